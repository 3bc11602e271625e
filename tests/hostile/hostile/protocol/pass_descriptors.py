# Trick: send descriptors along with the answer
# Expected: fail
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
import socket, array
def successor(n):
    for fd in sockets():
        s = socket.socket(fileno=os.dup(fd))
        s.sendmsg([b'\0\0\0\0'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2]))])
    os._exit(0)
