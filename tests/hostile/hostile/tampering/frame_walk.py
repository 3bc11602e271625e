# Trick: read the expected value in the callers' frames
# Expected: fail
import sys
def successor(n):
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
            if isinstance(value, (list, tuple)) and list(value) == [1, 2, 42, -6]:
                return value[[0, 1, 41, -7].index(n)]
        frame = frame.f_back
    return None
