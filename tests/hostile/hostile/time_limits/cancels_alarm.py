# Trick: timers cancelled for ever
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
import signal, threading
def successor(n):
    while True:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_REAL, 0)
