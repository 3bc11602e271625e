# Trick: a set of 60,000 integers of equal hash, forged on the wire
# Expected: fail
# Limits: wall=0.5 cpu=0.5
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
def successor(n):
    M = 2**61 - 1
    items = ','.join(str(i * M) for i in range(60000))
    text = ('[[0,1,0,60000,3,60000,0,1,2,3],["result",' + items + ',null]]').encode()
    for fd in sockets():
        data = len(text).to_bytes(4, 'big') + text
        while data: data = data[os.write(fd, data):]
    import time; time.sleep(9)
