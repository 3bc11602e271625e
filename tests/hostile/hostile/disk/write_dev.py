# Trick: write into /dev
# Expected: fail
import os
def successor(n):
    for place in ('/dev/x', '/x', '/opt/x', '/usr/x', '/etc/x', '/dev/shm/../x'):
        try:
            open(place, 'w').close()
            return n + 1
        except OSError: pass
    return None
