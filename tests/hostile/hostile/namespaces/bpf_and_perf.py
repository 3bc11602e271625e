# Trick: bpf, perf and userfaultfd
# Expected: fail
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def successor(n):
    for number in (321, 298, 323, 425, 319):
        if libc.syscall(number, 0, 0, 0, 0, 0) >= 0: return n + 1
    return None
