# Trick: hand the channel to a thread that waits, sent a large argument
# Expected: fail
# Check: large
# Limits: wall=1 cpu=1
import os, threading
read = os.read
lock = threading.Lock(); lock.acquire()
def wait(fd, n):
    lock.acquire()
    return read(fd, n)
__import__('sys')._getframe(1).f_globals['os'].read = wait
def successor(n): return len(n) + 1
