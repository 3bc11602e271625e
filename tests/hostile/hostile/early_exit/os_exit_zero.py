# Trick: leave with status 0 before any assertion runs
# Expected: fail
# Cause: exception
import os
def successor(n):
    os._exit(0)
