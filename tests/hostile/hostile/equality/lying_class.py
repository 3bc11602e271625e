# Trick: an object that claims to be an int
# Expected: fail
class Liar:
    __class__ = int
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    __hash__ = None
    def __index__(self): return 1
def successor(n):
    return Liar()
