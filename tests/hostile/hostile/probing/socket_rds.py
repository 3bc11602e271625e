# Trick: a socket of the family rds
# Expected: fail
import socket
def successor(n):
    socket.socket(21, socket.SOCK_RAW if 21 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
