# Trick: the environment through /proc
# Expected: fail
import glob
def successor(n):
    for path in glob.glob('/proc/*/environ'):
        try:
            if b'SECRET' in open(path, 'rb').read(): return n + 1
        except OSError: pass
    return None
