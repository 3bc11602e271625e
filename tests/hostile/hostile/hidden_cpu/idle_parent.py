# Trick: a parent that only sleeps
# Expected: fail
# Cause: timeout
# Limits: wall=2 cpu=1
import ctypes, os, signal, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def successor(n):
    if os.fork() == 0: burn(1000)
    time.sleep(1000)
    return n + 1
