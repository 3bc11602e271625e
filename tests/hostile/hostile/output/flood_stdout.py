# Trick: output without end
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
import sys
def successor(n):
    while True: sys.stdout.write('x' * 65536)
