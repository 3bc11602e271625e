# Trick: descriptors sent with messages
# Expected: fail
# Check: successor
# Limits: wall=1 cpu=1
import array, os, socket
def successor(n):
    s = socket.socket(fileno=3)
    while True: s.sendmsg([b'\0\0\0\2[]'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2]))])
