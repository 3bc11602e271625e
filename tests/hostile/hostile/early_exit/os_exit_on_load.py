# Trick: leave with status 0 while loading
# Expected: fail
# Cause: exception
import os
os._exit(0)
def successor(n):
    return 0
