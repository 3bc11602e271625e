# Trick: leave with status 0 from another thread
# Expected: fail
# Cause: exception
import os, threading
def successor(n):
    threading.Timer(0.01, lambda: os._exit(0)).start()
    import time; time.sleep(1)
    return 0
