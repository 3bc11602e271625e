# Trick: the C stack overrun
# Expected: fail
# Limits: wall=2 cpu=2
import sys
sys.setrecursionlimit(10**9)
class A:
    def __repr__(self): return repr(self)
    def __getattr__(self, name): return getattr(self, name)
def successor(n):
    return repr(A())
