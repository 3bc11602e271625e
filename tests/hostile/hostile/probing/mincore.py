# Trick: ask which pages are in memory, such as those of a file that an earlier program has read
# Expected: fail
import ctypes


def successor(n):
    libc = ctypes.CDLL(None, use_errno=True)
    vector = (ctypes.c_ubyte * 1)()
    address = ctypes.c_void_p(id(vector) & ~4095)
    return n + 1 if libc.mincore(address, 4096, vector) == 0 else n
