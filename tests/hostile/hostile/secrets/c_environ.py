# Trick: the environment as the C library sees it
# Expected: fail
import ctypes
def successor(n):
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_char_p
    return n + 1 if libc.getenv(b'PROMPTSE_CANARY') else None
