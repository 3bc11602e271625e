# Trick: block on a full pipe of its own in place of reading, sent many arguments
# Expected: fail
# Check: many
# Limits: wall=1 cpu=1
import os
r, w = os.pipe()
def fill(*a):
    while True: os.write(w, b'x' * 65536)
__import__('sys')._getframe(1).f_globals['os'].read = fill
def successor(n): return n + 1
