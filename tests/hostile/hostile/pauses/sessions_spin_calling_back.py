# Trick: a daemon in a session of its own that spins, while the check runs a callback
# Expected: fail
# Check: calling_back
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: pass
        os._exit(0)
started = []
def successor(n, pause=None):
    if not started:
        started.append(1)
        start()
    if pause: pause()
    return n + 1
