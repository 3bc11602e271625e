# Trap: standard output closed
# Expected: pass
import sys
def successor(n):
    if not sys.stdout.closed: sys.stdout.close()
    return n + 1
