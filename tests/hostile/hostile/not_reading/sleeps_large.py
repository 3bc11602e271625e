# Trick: sleep in place of reading, sent a large argument
# Expected: fail
# Check: large
# Limits: wall=1 cpu=1
import os, time
__import__('sys')._getframe(1).f_globals['os'].read = lambda *a: time.sleep(1000)
def successor(n): return len(n) + 1
