# Trick: files by handle
# Expected: fail
import ctypes, errno, os, platform
L = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    x = L.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if x < 0: raise OSError(ctypes.get_errno(), 'refused')
    return x
X86 = platform.machine() == 'x86_64'
def successor(n):
    b = (ctypes.c_uint32 * 64)(128); m = ctypes.c_int()
    call(303 if X86 else 264, -100, ctypes.addressof(ctypes.create_string_buffer(b'/usr')), ctypes.addressof(b), ctypes.addressof(m), 0)
    return n + 1
