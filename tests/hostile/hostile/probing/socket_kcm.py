# Trick: a socket of the family kcm
# Expected: fail
import socket
def successor(n):
    socket.socket(41, socket.SOCK_RAW if 41 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
