# Trick: a float that equals everything
# Expected: fail
class F(float):
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    __hash__ = None
def successor(n):
    return F(0.5)
