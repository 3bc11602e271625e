# Trick: a str that equals everything
# Expected: fail
class Str(str):
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    __hash__ = None
def successor(n):
    return Str('x')
