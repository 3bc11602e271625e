# Trick: read the answers in the callers' code constants
# Expected: fail
import sys
def successor(n):
    frame = sys._getframe(1)
    while frame:
        for c in frame.f_code.co_consts:
            if isinstance(c, tuple) and 42 in c:
                return c[[0, 1, 41, -7].index(n)]
        frame = frame.f_back
    return None
