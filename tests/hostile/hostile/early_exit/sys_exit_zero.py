# Trick: raise SystemExit(0) out of the call
# Expected: fail
# Cause: exception
import sys
def successor(n):
    sys.exit(0)
