# Trick: a user namespace through clone
# Expected: fail
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def successor(n):
    pid = libc.syscall(56, ctypes.c_ulong(0x10000000 | 17), None, 0, 0, 0)
    if pid == 0: os._exit(0)
    return n + 1 if pid > 0 else None
