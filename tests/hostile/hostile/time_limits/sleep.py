# Trick: sleep a day, using no CPU time
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
import time
def successor(n):
    time.sleep(86400)
