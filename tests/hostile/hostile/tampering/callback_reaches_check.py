# Trick: walk from a callback into the check's frames
# Expected: fail
def successor(n):
    return None if callable(n) else -1
