# Trick: escape sequences on every stream
# Expected: fail
import sys
def successor(n):
    for s in (sys.stdout, sys.stderr): s.write('\x1b]0;owned\x07\x1b[2J\x1b[31m')
    return 0
