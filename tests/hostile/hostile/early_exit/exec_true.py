# Trick: become /bin/true
# Expected: fail
# Cause: exception
import os
def successor(n):
    os.execv('/usr/bin/true', ['true'])
