# Trick: a socket of the family qrtr
# Expected: fail
import socket
def successor(n):
    socket.socket(42, socket.SOCK_RAW if 42 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
