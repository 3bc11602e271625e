# Trick: socket sends nothing but agreement
# Expected: fail
import socket
socket.socket.sendall = lambda self, data: None
def successor(n):
    return 0
