# Trick: anonymous files that belong to nobody's account
# Expected: fail
# Cause: exception
import os
def successor(n):
    fds = []
    for _ in range(100):
        fd = os.memfd_create('x')
        os.write(fd, b'x' * 2**20)
        fds.append(fd)
    return n + 1
