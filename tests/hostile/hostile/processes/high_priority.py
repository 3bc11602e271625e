# Trick: a higher scheduling priority
# Expected: fail
import os
def successor(n):
    try:
        os.nice(-10)
        return n + 1
    except OSError: return None
