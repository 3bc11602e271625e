# Trick: close every descriptor
# Expected: fail
# Cause: exception
import os
def successor(n):
    os.closerange(0, 4096)
    return 0
