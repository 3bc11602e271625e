# Trick: kill a process of the host by its number
# Expected: fail
import os, signal
def successor(n):
    try:
        os.kill(@VICTIM@, signal.SIGKILL)
        return n + 1
    except OSError: return None
