# Trick: a datagram to the listener
# Expected: fail
import socket
def successor(n):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: s.sendto(b'SECRET', ('127.0.0.1', @PORT@))
    except OSError: pass
    return 0
