# Trick: os._exit and kill disarmed
# Expected: fail
import os
os._exit = os.kill = lambda *a: None
os.abort = lambda: None
def successor(n):
    return 0
