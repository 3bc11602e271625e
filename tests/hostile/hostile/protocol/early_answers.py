# Trick: answer twenty calls ahead with the same guess
# Expected: fail
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
def successor(n):
    text = b'[[0,3,2,3],["result",1,null]]'
    for fd in sockets():
        for _ in range(20): os.write(fd, len(text).to_bytes(4, 'big') + text)
    return 1
