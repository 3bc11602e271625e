# Trick: read the checker's requests oneself and never answer
# Expected: fail
# Limits: wall=0.5 cpu=0.5
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
import threading, socket
def drain(fd):
    while True:
        os.read(fd, 65536)
for fd in sockets(): threading.Thread(target=drain, args=(fd,), daemon=True).start()
def successor(n):
    return 0
