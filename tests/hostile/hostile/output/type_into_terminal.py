# Trick: push characters into the controlling terminal
# Expected: fail
import fcntl, os
def successor(n):
    for place in (0, 1, 2, '/dev/tty', '/dev/pts/0'):
        try:
            fd = os.open(place, os.O_RDWR) if isinstance(place, str) else place
            fcntl.ioctl(fd, 0x5412, b'x')
            return n + 1
        except OSError: pass
    return None
