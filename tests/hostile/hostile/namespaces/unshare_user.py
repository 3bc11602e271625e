# Trick: a user namespace of one's own
# Expected: fail
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def successor(n):
    return n + 1 if libc.unshare(0x10000000) == 0 else None
