# Trap: exit() under the main guard
# Expected: pass
import sys
def successor(n):
    return n + 1
if __name__ == '__main__':
    sys.exit(0)
