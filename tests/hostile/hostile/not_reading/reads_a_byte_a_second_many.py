# Trick: read a byte a second, sent many arguments
# Expected: fail
# Check: many
# Limits: wall=1 cpu=1
import os, time
read = os.read
def slow(fd, n):
    time.sleep(1)
    return read(fd, 1)
__import__('sys')._getframe(1).f_globals['os'].read = slow
def successor(n): return n + 1
