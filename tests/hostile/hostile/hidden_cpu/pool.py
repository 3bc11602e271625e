# Trick: a pool of processes
# Expected: fail
# Cause: timeout
# Limits: wall=2 cpu=1
import ctypes, os, signal, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def successor(n):
    ps = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0: burn(1000)
    signal.pause()
    return n + 1
