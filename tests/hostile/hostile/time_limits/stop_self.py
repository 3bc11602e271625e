# Trick: stop oneself with SIGSTOP in a child's group
# Expected: fail
# Limits: wall=0.5 cpu=0.5
import os, signal
def successor(n):
    pid = os.fork()
    if pid == 0:
        os.kill(os.getppid(), signal.SIGSTOP)
        os._exit(0)
    while True: os.kill(pid, 0)
