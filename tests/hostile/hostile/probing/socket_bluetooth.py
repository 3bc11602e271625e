# Trick: a socket of the family bluetooth
# Expected: fail
import socket
def successor(n):
    socket.socket(31, socket.SOCK_RAW if 31 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
