# Trick: stop the parent process
# Expected: fail
import os, signal
def successor(n):
    try: os.kill(os.getppid(), signal.SIGSTOP)
    except OSError: pass
    return 0
