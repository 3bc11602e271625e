# Trick: a listener on the host's loopback
# Expected: fail
import socket
def successor(n):
    try:
        socket.create_connection(('127.0.0.1', @PORT@), timeout=0.5).sendall(b'SECRET')
        return n + 1
    except OSError: return None
