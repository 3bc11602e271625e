# Trick: a user namespace through clone3
# Expected: fail
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def successor(n):
    args = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
    pid = libc.syscall(435, ctypes.byref(args), 88)
    if pid == 0: os._exit(0)
    return n + 1 if pid > 0 else None
