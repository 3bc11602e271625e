# Trick: listmount
# Expected: fail
import ctypes, errno, os, platform
L = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    x = L.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if x < 0: raise OSError(ctypes.get_errno(), 'refused')
    return x
X86 = platform.machine() == 'x86_64'
def successor(n):
    buffer = ctypes.create_string_buffer(4096); req = (ctypes.c_uint64 * 3)(24, 2**64 - 1, 0)
    call(458, ctypes.addressof(req), ctypes.addressof(buffer), 512, 0)
    return n + 1
