# Trick: every signal blocked
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
def successor(n):
    while True: pass
