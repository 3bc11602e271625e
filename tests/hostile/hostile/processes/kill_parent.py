# Trick: kill the parent process
# Expected: fail
import os, signal
def successor(n):
    try: os.kill(os.getppid(), signal.SIGKILL)
    except OSError: pass
    return 0
