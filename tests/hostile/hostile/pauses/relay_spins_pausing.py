# Trick: processes that hand the work on before they are seen, while the check pauses
# Expected: fail
# Check: pausing
# Limits: wall=60 cpu=1 memory=268435456
import os, signal, threading, time
def start():
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            t = time.process_time()
            while time.process_time() - t < 0.2: pass
            if os.fork(): os._exit(0)
started = []
def successor(n):
    if not started:
        started.append(1)
        start()
    return n + 1
