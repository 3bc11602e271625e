# Trick: quotas
# Expected: fail
import ctypes, errno, os, platform
L = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    x = L.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if x < 0: raise OSError(ctypes.get_errno(), 'refused')
    return x
X86 = platform.machine() == 'x86_64'
def successor(n):
    call(443, os.open('/tmp', 0), 0x80000400, 0, ctypes.addressof(ctypes.create_string_buffer(256)))
    return n + 1
