# Trick: a thread that collects, while the check pauses
# Expected: fail
# Check: pausing
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    kept = []
    def grow():
        while True: kept.append(b'x' * 2**20)
    threading.Thread(target=grow, daemon=True).start()
started = []
def successor(n):
    if not started:
        started.append(1)
        start()
    return n + 1
