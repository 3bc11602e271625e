# Trick: call back a function of the check that was never lent
# Expected: fail
# Limits: wall=0.5 cpu=0.5
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
def successor(n):
    text = b'[[0,2,2,0,5,0,2,4],["callback",0]]'
    for fd in sockets(): os.write(fd, len(text).to_bytes(4, 'big') + text)
    import time; time.sleep(9)
