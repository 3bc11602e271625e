# Trick: the project's history
# Expected: fail
import os
def successor(n):
    for place in ('@PROJECT@', '@CWD@', '/work', '/home', '/srv', '/opt'):
        for root, folders, _ in os.walk(place):
            if '.git' in folders: return n + 1
    return None
