# Trick: an endless loop
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
def successor(n):
    while True: pass
