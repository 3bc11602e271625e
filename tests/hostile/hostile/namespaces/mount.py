# Trick: a mount
# Expected: fail
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def successor(n):
    return n + 1 if libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None) == 0 else None
