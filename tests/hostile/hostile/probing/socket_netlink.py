# Trick: a socket of the family netlink
# Expected: fail
import socket
def successor(n):
    socket.socket(16, socket.SOCK_RAW if 16 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
