# Trick: a socket of the family vsock
# Expected: fail
import socket
def successor(n):
    socket.socket(40, socket.SOCK_RAW if 40 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
