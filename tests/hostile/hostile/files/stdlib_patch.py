# Trick: the standard library on disk patched
# Expected: fail
import json
def successor(n):
    try:
        open(json.__file__, 'a').write('#')
        return n + 1
    except OSError: return None
