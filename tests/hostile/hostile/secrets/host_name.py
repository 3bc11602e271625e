# Trick: the host's name
# Expected: fail
import socket, os
def successor(n):
    return n + 1 if socket.gethostname() == '@HOSTNAME@' else None
