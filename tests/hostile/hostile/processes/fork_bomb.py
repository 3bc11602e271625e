# Trick: fork without end
# Expected: fail
# Limits: wall=0.5 cpu=0.5
import os
def successor(n):
    while True:
        try: os.fork()
        except OSError: pass
