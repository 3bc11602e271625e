# Trick: raise a BaseException that except Exception misses
# Expected: fail
# Cause: exception
def successor(n):
    raise GeneratorExit
