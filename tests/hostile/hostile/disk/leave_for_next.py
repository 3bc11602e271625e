# Trick: leave a file for the next program
# Expected: fail
# Check: twice
import os
def successor(n):
    if os.path.exists('/tmp/left') or os.path.exists('/dev/shm/left'): return n + 1
    for place in ('/tmp/left', '/dev/shm/left'):
        open(place, 'w').close()
    return None
