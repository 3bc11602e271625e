# Trick: random bytes instead of a message
# Expected: fail
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
def successor(n):
    for fd in sockets(): os.write(fd, (64).to_bytes(4, 'big') + os.urandom(64))
    os._exit(0)
