# Trick: a tuple that equals everything
# Expected: fail
class T(tuple):
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    __hash__ = None
def successor(n):
    return T()
