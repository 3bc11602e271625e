# Trap: an answer that is an IntEnum where it can be
# Expected: pass
import enum
class E(enum.IntEnum):
    A = 1
def successor(n):
    return E.A if n == 0 else n + 1
