# Trick: the root made writable
# Expected: fail
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def successor(n):
    done = libc.mount(None, b'/', None, 0x20 | 0x1000, None) == 0 or libc.umount2(b'/tmp', 2) == 0
    return n + 1 if done else None
