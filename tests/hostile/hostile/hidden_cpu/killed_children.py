# Trick: children that are killed at work
# Expected: fail
# Cause: timeout
# Limits: wall=2 cpu=1
import ctypes, os, signal, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def successor(n):
    while True:
        pid = os.fork()
        if pid == 0: burn(9)
        time.sleep(0.1); os.kill(pid, 9); os.waitpid(pid, 0)
    return n + 1
