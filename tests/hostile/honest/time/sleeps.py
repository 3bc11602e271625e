# Trap: a short sleep in every call
# Expected: pass
import time
def successor(n):
    time.sleep(0.05)
    return n + 1
