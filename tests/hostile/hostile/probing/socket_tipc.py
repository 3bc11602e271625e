# Trick: a socket of the family tipc
# Expected: fail
import socket
def successor(n):
    socket.socket(30, socket.SOCK_RAW if 30 == 16 else socket.SOCK_DGRAM).close()
    return n + 1
