# Trick: a message of 4 GB, announced
# Expected: fail
# Check: successor
# Limits: wall=1 cpu=1
import os
def successor(n):
    os.write(3, b'\xff\xff\xff\xff')
    while True: os.write(3, b'x' * 65536)
