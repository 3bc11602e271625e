# Trick: pages lent to a pipe
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
    iov = (ctypes.c_long * 2)(ctypes.addressof(ctypes.create_string_buffer(4096)), 4096)
    call(278 if X86 else 75, w, ctypes.addressof(iov), 1, 0)
    return n + 1
