# Trick: look for the expected list among all objects
# Expected: fail
import gc
def successor(n):
    for o in gc.get_objects():
        if type(o) is list and o == [1, 2, 42, -6]:
            return o[[0, 1, 41, -7].index(n)]
    return None
