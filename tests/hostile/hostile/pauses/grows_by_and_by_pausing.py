# Trick: a tree that grows level by level, while the check pauses
# Expected: fail
# Check: pausing
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    def grow(depth):
        block = b'x' * (40 * 2**20)
        if depth and os.fork() == 0: grow(depth - 1)
        time.sleep(1000)
    if os.fork() == 0: grow(12)
started = []
def successor(n):
    if not started:
        started.append(1)
        start()
    return n + 1
