# Trick: a socket of the family llc
# Expected: fail
import socket
def successor(n):
    socket.socket(26, socket.SOCK_RAW if 26 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
