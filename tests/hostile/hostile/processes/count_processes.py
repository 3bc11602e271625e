# Trick: see processes of the host
# Expected: fail
import os
def successor(n):
    seen = 0
    for pid in range(2, 5000):
        try:
            os.kill(pid, 0); seen += 1
        except ProcessLookupError: pass
        except PermissionError: seen += 1
    return n + 1 if seen else None
