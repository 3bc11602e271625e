# Trick: a socket of the family ax25
# Expected: fail
import socket
def successor(n):
    socket.socket(3, socket.SOCK_RAW if 3 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
