# Trick: ask how much of a file is in memory, which an earlier program may have read
# Expected: fail
import ctypes

CACHESTAT = 451


def successor(n):
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/usr/bin/env", "rb") as file:
        whole = (ctypes.c_uint64 * 2)(0, 0)
        result = (ctypes.c_uint64 * 5)()
        done = libc.syscall(CACHESTAT, file.fileno(), whole, result, 0)
    return n + 1 if done == 0 else n
