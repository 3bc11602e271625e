# Trick: the process at the other end of the channel
# Expected: fail
import ctypes, errno, os, platform
L = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    x = L.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if x < 0: raise OSError(ctypes.get_errno(), 'refused')
    return x
X86 = platform.machine() == 'x86_64'
def successor(n):
    import socket
    s = socket.socket(fileno=3)
    assert s.getsockopt(socket.SOL_SOCKET, 77) >= 0
    return n + 1
