# Trick: a symbolic link to a secret
# Expected: fail
import os
def successor(n):
    os.symlink('@HOME@/secret.txt', '/tmp/link')
    try: return n + 1 if open('/tmp/link').read() else None
    except OSError: return None
