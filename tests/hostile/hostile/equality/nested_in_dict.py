# Trick: the equal-to-all as a value of a dict
# Expected: fail
# Check: mapped
class Any:
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    __hash__ = None
def successor(n):
    return {'result': Any()}
