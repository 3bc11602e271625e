# Trick: the project's own files
# Expected: fail
import os
def successor(n):
    return n + 1 if os.path.exists('@CWD@') or os.path.exists('@PROJECT@') else None
