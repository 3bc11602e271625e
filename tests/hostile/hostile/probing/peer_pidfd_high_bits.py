# Trick: the process at the other end, requested with high bits
# Expected: fail
import ctypes, errno, os, platform
L = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    x = L.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if x < 0: raise OSError(ctypes.get_errno(), 'refused')
    return x
X86 = platform.machine() == 'x86_64'
def successor(n):
    import struct
    b = ctypes.create_string_buffer(4); l = ctypes.c_uint(4)
    call(55 if X86 else 209, 3, 1 + 2**32, 77 + 2**32, ctypes.addressof(b), ctypes.addressof(l))
    return n + 1
