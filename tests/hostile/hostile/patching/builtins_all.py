# Trick: all() is always true
# Expected: fail
import builtins
builtins.all = lambda *a: True
builtins.isinstance = lambda *a: True
def successor(n):
    return 0
