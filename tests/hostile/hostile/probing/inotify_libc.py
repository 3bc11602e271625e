# Trick: inotify by the C library
# Expected: fail
import ctypes, errno, os, platform
L = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    x = L.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if x < 0: raise OSError(ctypes.get_errno(), 'refused')
    return x
X86 = platform.machine() == 'x86_64'
def successor(n):
    fd = L.inotify_init1(0)
    assert fd >= 0 and L.inotify_add_watch(fd, b'/usr/bin', 0xfff) >= 0
    return n + 1
