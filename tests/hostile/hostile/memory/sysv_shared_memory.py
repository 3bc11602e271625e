# Trick: System V shared memory that outlives the process
# Expected: fail
import ctypes
def successor(n):
    libc = ctypes.CDLL(None)
    return n + 1 if libc.shmget(0x1234, 2**20, 0o1666) >= 0 else None
