# Trick: make a device node
# Expected: fail
import os, stat
def successor(n):
    try:
        os.mknod('/tmp/sda', 0o600 | stat.S_IFBLK, os.makedev(8, 0))
        return n + 1
    except OSError: return None
