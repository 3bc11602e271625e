# Trick: a thread that spins, while the check pauses
# Expected: fail
# Check: pausing
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    def spin():
        while True: pass
    threading.Thread(target=spin, daemon=True).start()
started = []
def successor(n):
    if not started:
        started.append(1)
        start()
    return n + 1
