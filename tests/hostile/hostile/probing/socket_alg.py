# Trick: a socket of the family alg
# Expected: fail
import socket
def successor(n):
    socket.socket(38, socket.SOCK_RAW if 38 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
