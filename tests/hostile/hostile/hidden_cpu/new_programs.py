# Trick: an interpreter each time
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
            os.execv(sys.executable, [sys.executable, '-S', '-c', 'for i in range(10**7): pass'])
        time.sleep(0.1)
    return n + 1
