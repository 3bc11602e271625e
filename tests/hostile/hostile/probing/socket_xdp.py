# Trick: a socket of the family xdp
# Expected: fail
import socket
def successor(n):
    socket.socket(44, socket.SOCK_RAW if 44 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
