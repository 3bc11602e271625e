# Trick: scan the process's own heap for the answers
# Expected: fail
import ctypes
def successor(n):
    text = ctypes.string_at(id(globals()), 4096)
    # Searched for backwards, not to find the text of this line.
    return n + 1 if b'kcehc_eht_fo_rewsna' in text[::-1] else None
