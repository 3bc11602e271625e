# Trick: a daemon that outlives the program
# Expected: fail
import os, time
def successor(n):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(0)
    return 0
