# Trick: kill the process group
# Expected: fail
import os, signal
def successor(n):
    try: os.killpg(0, signal.SIGTERM)
    except OSError: pass
    return 0
