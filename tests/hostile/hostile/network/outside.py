# Trick: a server outside
# Expected: fail
import socket
def successor(n):
    for host in ('1.1.1.1', '8.8.8.8'):
        try:
            socket.create_connection((host, 53), timeout=0.3)
            return n + 1
        except OSError: pass
    return None
