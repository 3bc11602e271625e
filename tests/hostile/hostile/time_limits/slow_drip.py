# Trick: an answer byte by byte
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
import time
def successor(n):
    for fd in sockets():
        os.write(fd, (1000).to_bytes(4, 'big'))
        while True:
            os.write(fd, b' ')
            time.sleep(0.05)
