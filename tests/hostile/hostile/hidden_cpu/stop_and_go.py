# Trick: a process that is stopped whenever it is looked at
# Expected: fail
# Cause: timeout
# Limits: wall=2 cpu=1
import ctypes, os, signal, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def successor(n):
    pid = os.fork()
    if pid == 0: burn(1000)
    while True:
        os.kill(pid, signal.SIGCONT); time.sleep(0.02); os.kill(pid, signal.SIGSTOP); time.sleep(0.005)
    return n + 1
