# Trick: a socket of the family packet
# Expected: fail
import socket
def successor(n):
    socket.socket(17, socket.SOCK_RAW if 17 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
