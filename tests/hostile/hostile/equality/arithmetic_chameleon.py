# Trick: an object whose differences are all zero
# Expected: fail
# Check: close
class Any(float):
    def __sub__(self, o): return 0.0
    __rsub__ = __sub__
    def __abs__(self): return 0.0
    def __lt__(self, o): return True
def successor(n):
    return Any(99)
