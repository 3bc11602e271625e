# Trick: a socket of the family can
# Expected: fail
import socket
def successor(n):
    socket.socket(29, socket.SOCK_RAW if 29 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
