# Trick: a listener on an abstract unix socket
# Expected: fail
import socket
def successor(n):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect('\0promptse-canary-@PORT@')
        return n + 1
    except OSError: return None
