# Trick: threads that come and go
# Expected: fail
# Cause: timeout
# Limits: wall=2 cpu=1
import ctypes, os, signal, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def successor(n):
    while True:
        t = threading.Thread(target=burn, args=(0.1,)); t.start(); t.join()
    return n + 1
