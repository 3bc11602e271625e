# Trick: a child of 400 MB, while the check runs a callback
# Expected: fail
# Check: calling_back
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    if os.fork() == 0:
        block = b'x' * (300 * 2**20)
        time.sleep(1000)
started = []
def successor(n, pause=None):
    if not started:
        started.append(1)
        start()
    if pause: pause()
    return n + 1
