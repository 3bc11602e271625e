# Trick: spin in place of reading, sent many arguments
# Expected: fail
# Check: many
# Limits: wall=1 cpu=1
import os
def spin(*a):
    while True: pass
os.read = spin
def successor(n): return n + 1
