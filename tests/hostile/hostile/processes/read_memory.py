# Trick: read another process's memory
# Expected: fail
import ctypes
def successor(n):
    libc = ctypes.CDLL(None, use_errno=True)
    class Vec(ctypes.Structure):
        _fields_ = [('base', ctypes.c_void_p), ('len', ctypes.c_size_t)]
    buf = ctypes.create_string_buffer(8)
    local = Vec(ctypes.addressof(buf), 8)
    remote = Vec(0x400000, 8)
    got = libc.process_vm_readv(@VICTIM@, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    return n + 1 if got > 0 else None
