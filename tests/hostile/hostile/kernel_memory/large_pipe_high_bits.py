# Trick: a pipe of a megabyte, requested with high bits
# Expected: fail
import ctypes, errno, os, platform
L = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    x = L.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if x < 0: raise OSError(ctypes.get_errno(), 'refused')
    return x
X86 = platform.machine() == 'x86_64'
def successor(n):
    r, w = os.pipe()
    call(72 if X86 else 25, w, 1031 + 2**32, 2**20)
    return n + 1
