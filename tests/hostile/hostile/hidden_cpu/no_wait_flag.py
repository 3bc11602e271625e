# Trick: children without a signal at their end
# Expected: fail
# Cause: timeout
# Limits: wall=2 cpu=1
import ctypes, os, signal, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def successor(n):
    L = ctypes.CDLL(None)
    while True:
        if os.fork() == 0:
            burn(0.2); os._exit(0)
        time.sleep(0.05)
    return n + 1
