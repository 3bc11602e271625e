# Trick: children that nobody waits for
# Expected: fail
# Cause: timeout
# Limits: wall=2 cpu=1
import ctypes, os, signal, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def successor(n):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        if os.fork() == 0:
            burn(0.1); os._exit(0)
        time.sleep(0.1)
    return n + 1
