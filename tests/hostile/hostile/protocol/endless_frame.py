# Trick: a message that never ends
# Expected: fail
# Limits: wall=0.5 cpu=0.5
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
def successor(n):
    for fd in sockets():
        os.write(fd, (8 * 2**20).to_bytes(4, 'big'))
        while True: os.write(fd, b' ' * 65536)
