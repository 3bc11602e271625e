# Trick: four children that spin, while the check pauses
# Expected: fail
# Check: pausing
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    for _ in range(4):
        if os.fork() == 0:
            while True: pass
started = []
def successor(n):
    if not started:
        started.append(1)
        start()
    return n + 1
