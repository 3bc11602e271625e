# Trick: a raw or packet socket
# Expected: fail
import socket
def successor(n):
    for family, kind in ((17, 3), (16, 3), (40, 1), (2, 3), (38, 5)):
        try:
            socket.socket(family, kind)
            return n + 1
        except OSError: pass
    return None
