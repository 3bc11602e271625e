# Trick: a child that answers after its parent left
# Expected: fail
# Cause: exception
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
import time
def successor(n):
    if os.fork() == 0:
        time.sleep(0.2)
        text = b'[[0,3,2,3],["result",1,null]]'
        for fd in sockets(): os.write(fd, len(text).to_bytes(4, 'big') + text)
        os._exit(0)
    os._exit(0)
