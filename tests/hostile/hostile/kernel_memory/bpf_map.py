# Trick: a BPF map
# Expected: fail
import ctypes, errno, os, platform
L = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    x = L.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if x < 0: raise OSError(ctypes.get_errno(), 'refused')
    return x
X86 = platform.machine() == 'x86_64'
def successor(n):
    attr = (ctypes.c_uint32 * 16)(2, 4, 4, 1)
    call(321 if X86 else 280, 0, ctypes.addressof(attr), 64)
    return n + 1
