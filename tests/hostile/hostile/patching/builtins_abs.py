# Trick: abs() is always 0
# Expected: fail
# Check: close
import builtins
builtins.abs = lambda x: 0
builtins.len = lambda x: 1
def successor(n):
    return 99.0
