# Trick: children that write without end
# Expected: fail
# Check: successor
# Limits: wall=3 cpu=3
import os, time
for _ in range(4):
    if os.fork() == 0:
        while True: os.write(1, b'x' * 65536)
def successor(n): time.sleep(1000)
