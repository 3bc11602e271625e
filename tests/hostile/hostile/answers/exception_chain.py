# Trick: an exception with a cause chain of 10,000
# Expected: fail
# Cause: exception
def successor(n):
    e = None
    for i in range(10000):
        new = ValueError(i)
        new.__cause__ = e
        e = new
    raise e
