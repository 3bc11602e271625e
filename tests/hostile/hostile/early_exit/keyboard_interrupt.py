# Trick: interrupt the test run
# Expected: fail
# Cause: exception
def successor(n):
    raise KeyboardInterrupt
