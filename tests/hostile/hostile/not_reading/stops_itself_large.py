# Trick: stop in place of reading, sent a large argument
# Expected: fail
# Check: large
# Limits: wall=1 cpu=1
import os, signal
os.read = lambda *a: os.kill(os.getpid(), signal.SIGSTOP) or b''
def successor(n): return len(n) + 1
