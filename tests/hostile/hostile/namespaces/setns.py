# Trick: the host's namespace
# Expected: fail
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def successor(n):
    try: fd = os.open('/proc/1/ns/mnt', os.O_RDONLY)
    except OSError: fd = 0
    return n + 1 if libc.setns(fd, 0) == 0 else None
