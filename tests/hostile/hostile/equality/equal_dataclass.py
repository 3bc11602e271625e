# Trick: a dataclass that equals everything
# Expected: fail
from dataclasses import dataclass
@dataclass(eq=False)
class P:
    x: int = 0
    def __eq__(self, o): return True
def successor(n):
    return P()
