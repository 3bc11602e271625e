# Trick: an int that equals everything
# Expected: fail
class Int(int):
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    __hash__ = None
def successor(n):
    return Int(0)
