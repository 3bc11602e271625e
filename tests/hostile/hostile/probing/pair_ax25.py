# Trick: a pair of sockets of the family ax25
# Expected: fail
import ctypes, platform
L = ctypes.CDLL(None, use_errno=True)
def successor(n):
    pair = (ctypes.c_int * 2)()
    number = 53 if platform.machine() == 'x86_64' else 199
    assert L.syscall(number, 3, 2, 0, pair) == 0
    return n + 1
