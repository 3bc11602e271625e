# Trick: the exception hook exits with 0
# Expected: fail
# Cause: exception
import sys, os
sys.excepthook = lambda *a: os._exit(0)
def successor(n):
    raise ValueError
