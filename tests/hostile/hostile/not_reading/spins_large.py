# Trick: spin in place of reading, sent a large argument
# Expected: fail
# Check: large
# Limits: wall=1 cpu=1
import os
def spin(*a):
    while True: pass
os.read = spin
def successor(n): return len(n) + 1
