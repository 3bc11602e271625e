# Trick: sleep in place of reading, sent many arguments
# Expected: fail
# Check: many
# Limits: wall=1 cpu=1
import os, time
os.read = lambda *a: time.sleep(1000)
def successor(n): return n + 1
