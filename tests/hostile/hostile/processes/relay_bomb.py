# Trick: processes that fork and exit faster than they are found, each in a session of its own
# Expected: fail
import os
import time


def relay(end):
    while time.monotonic() < end:
        try:
            if os.fork():
                os._exit(0)
            os.setsid()
            os.fork()
        except OSError:
            pass
    os._exit(0)


def successor(n):
    for _ in range(30):
        try:
            if os.fork() == 0:
                relay(time.monotonic() + 8)
        except OSError:
            pass
    time.sleep(0.3)
    return n
