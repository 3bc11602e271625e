# Trick: die of SIGKILL
# Expected: fail
# Cause: exception
import ctypes
def successor(n):
    ctypes.string_at(0)
