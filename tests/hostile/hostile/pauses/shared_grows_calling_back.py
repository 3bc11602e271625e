# Trick: children that share a map, while the check runs a callback
# Expected: fail
# Check: calling_back
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    import mmap
    for _ in range(4):
        if os.fork() == 0:
            m = mmap.mmap(-1, 100 * 2**20)
            m.write(b'x' * len(m))
            time.sleep(1000)
started = []
def successor(n, pause=None):
    if not started:
        started.append(1)
        start()
    if pause: pause()
    return n + 1
