# Trick: a tree that grows level by level, while the check runs a callback
# Expected: fail
# Check: calling_back
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    def grow(depth):
        block = b'x' * (40 * 2**20)
        if depth and os.fork() == 0: grow(depth - 1)
        time.sleep(1000)
    if os.fork() == 0: grow(12)
started = []
def successor(n, pause=None):
    if not started:
        started.append(1)
        start()
    if pause: pause()
    return n + 1
