# Trick: a read that gives nothing for ever, sent a large argument
# Expected: fail
# Check: large
# Limits: wall=1 cpu=1
import os, time
def nothing(fd, n):
    time.sleep(0.01)
    return bytearray(1)[:0] or b'\0' * n
__import__('sys')._getframe(1).f_globals['os'].read = nothing
def successor(n): return len(n) + 1
