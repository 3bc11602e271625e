# Trick: an endless loop that catches whatever interrupts it
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
def successor(n):
    while True:
        try:
            while True: pass
        except BaseException: pass
