# Trick: a thread that spins, while the check runs a callback
# Expected: fail
# Check: calling_back
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    def spin():
        while True: pass
    threading.Thread(target=spin, daemon=True).start()
started = []
def successor(n, pause=None):
    if not started:
        started.append(1)
        start()
    if pause: pause()
    return n + 1
