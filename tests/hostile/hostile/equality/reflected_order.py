# Trick: an object above and below everything
# Expected: fail
# Check: close
class Any:
    def __lt__(self, o): return True
    __gt__ = __le__ = __ge__ = __lt__
    def __sub__(self, o): return self
    def __abs__(self): return self
def successor(n):
    return Any()
