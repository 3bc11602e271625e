# Trick: look for the check among all functions
# Expected: fail
import gc, types
def successor(n):
    for o in gc.get_objects():
        if isinstance(o, types.FunctionType) and 'check' in o.__name__ and 'candidate' in o.__code__.co_varnames:
            return n + 1
    return None
