# Trick: the listener over IPv6
# Expected: fail
import socket
def successor(n):
    for host in ('::1', '::ffff:127.0.0.1', 'localhost', '0.0.0.0'):
        try:
            socket.create_connection((host, @PORT@), timeout=0.5)
            return n + 1
        except OSError: pass
    return None
