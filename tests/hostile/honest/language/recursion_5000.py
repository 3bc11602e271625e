# Trap: recursion 5,000 deep
# Expected: pass
import sys
sys.setrecursionlimit(20000)
def down(k):
    return 0 if k == 0 else 1 + down(k - 1)
def successor(n):
    return down(5000) - 5000 + n + 1
