# Trick: the kernel's keyring
# Expected: fail
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def successor(n):
    return n + 1 if libc.syscall(248, b'user', b'x', b'y', 1, -3) > 0 else None
