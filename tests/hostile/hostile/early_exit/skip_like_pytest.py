# Trick: raise what pytest takes for a skip
# Expected: fail
# Cause: exception
class Skipped(BaseException):
    pass
Skipped.__module__ = '_pytest.outcomes'
def successor(n):
    raise Skipped('no')
