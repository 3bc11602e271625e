# Trick: recursion without end under a raised limit
# Expected: fail
# Limits: wall=2 cpu=2
import sys
sys.setrecursionlimit(10**9)
def successor(n):
    return successor(n)
