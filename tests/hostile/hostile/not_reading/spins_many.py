# Trick: spin in place of reading, sent many arguments
# Expected: fail
# Check: many
# Limits: wall=1 cpu=1
import os
def spin(*a):
    while True: pass
__import__('sys')._getframe(1).f_globals['os'].read = spin
def successor(n): return n + 1
