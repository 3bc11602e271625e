# Trick: a performance counter
# Expected: fail
import ctypes, errno, os, platform
L = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    x = L.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if x < 0: raise OSError(ctypes.get_errno(), 'refused')
    return x
X86 = platform.machine() == 'x86_64'
def successor(n):
    attr = ctypes.create_string_buffer(128); attr[4] = 112
    call(298 if X86 else 241, ctypes.addressof(attr), 0, -1, -1, 0)
    return n + 1
