# Trick: negative counts and empty stacks
# Expected: fail
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
def successor(n):
    text = b'[[0,-1,1,-5],[1,2,3]]'
    for fd in sockets(): os.write(fd, len(text).to_bytes(4, 'big') + text)
    os._exit(0)
