# Trick: nesting 100,000 deep, forged on the wire
# Expected: fail
# Limits: wall=0.5 cpu=0.5
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
def successor(n):
    text = ('[[' + '1,0,' + '1,1,' * 100000 + '0,0],[]]').encode()
    for fd in sockets():
        data = len(text).to_bytes(4, 'big') + text
        while data: data = data[os.write(fd, data):]
    import time; time.sleep(9)
