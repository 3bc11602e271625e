# Trick: wait for a lock that nobody frees
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
import threading
lock = threading.Lock()
lock.acquire()
def successor(n):
    lock.acquire()
