# Trick: a root of one's own
# Expected: fail
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def successor(n):
    try:
        os.chroot('/tmp')
        return n + 1
    except OSError: return None
