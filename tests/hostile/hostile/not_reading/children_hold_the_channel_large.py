# Trick: exit, and leave children that hold the channel, sent a large argument
# Expected: fail
# Check: large
# Limits: wall=1 cpu=1
import os, time
for _ in range(4):
    if os.fork() == 0: time.sleep(1000)
os._exit(0)
def successor(n): return len(n) + 1
