# Trick: kill every process that can be reached
# Expected: fail
import os, signal
def successor(n):
    try: os.kill(-1, signal.SIGKILL)
    except OSError: pass
    return 0
