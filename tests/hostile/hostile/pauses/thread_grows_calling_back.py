# Trick: a thread that collects, while the check runs a callback
# Expected: fail
# Check: calling_back
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    kept = []
    def grow():
        while True: kept.append(b'x' * 2**20)
    threading.Thread(target=grow, daemon=True).start()
started = []
def successor(n, pause=None):
    if not started:
        started.append(1)
        start()
    if pause: pause()
    return n + 1
