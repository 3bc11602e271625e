# Trap: a pair of sockets
# Expected: pass
import socket
def successor(n):
    a, b = socket.socketpair()
    a.sendall(str(n + 1).encode())
    return int(b.recv(100))
