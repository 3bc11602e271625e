# Trick: root again by setuid
# Expected: fail
import os
def successor(n):
    for call in (os.setuid, os.setgid):
        try:
            call(0)
            return n + 1
        except OSError: pass
    return None
