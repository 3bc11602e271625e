# Trap: a SIGALRM handler of its own
# Expected: pass
import signal, time
def handler(*_):
    raise TimeoutError
def successor(n):
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    k = 0
    try:
        while True: time.sleep(0.001)
    except TimeoutError:
        return n + 1
