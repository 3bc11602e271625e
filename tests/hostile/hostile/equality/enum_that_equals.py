# Trick: an enum member that equals everything
# Expected: fail
import enum
class E(enum.Enum):
    A = 1
    def __eq__(self, o): return True
    def __hash__(self): return 1
def successor(n):
    return E.A
