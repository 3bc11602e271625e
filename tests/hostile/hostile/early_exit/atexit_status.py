# Trick: register an exit function that ends with status 0
# Expected: fail
# Cause: exception
import atexit, os
atexit.register(os._exit, 0)
def successor(n):
    raise SystemExit
