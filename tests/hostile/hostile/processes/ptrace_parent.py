# Trick: attach to the parent with ptrace
# Expected: fail
import ctypes, os
def successor(n):
    libc = ctypes.CDLL(None, use_errno=True)
    return n + 1 if libc.ptrace(16, @VICTIM@, 0, 0) == 0 or libc.ptrace(0, 0, 0, 0) == 0 else None
