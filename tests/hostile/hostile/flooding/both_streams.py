# Trick: both streams without end
# Expected: fail
# Check: successor
# Limits: wall=1 cpu=1
import os
def successor(n):
    while True:
        os.write(1, b'x' * 65536); os.write(2, b'x' * 65536)
