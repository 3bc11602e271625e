# Trick: descriptors of processes with messages
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
    s.setsockopt(socket.SOL_SOCKET, 76, 1)
    return n + 1
