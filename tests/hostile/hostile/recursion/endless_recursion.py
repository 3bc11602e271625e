# Trick: recursion without end
# Expected: fail
# Cause: exception
def successor(n):
    return successor(n)
