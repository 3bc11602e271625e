# Trap: warnings and standard error
# Expected: pass
import sys, warnings
def successor(n):
    warnings.warn('careful')
    print('debug', file=sys.stderr)
    return n + 1
