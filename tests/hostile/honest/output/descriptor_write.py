# Trap: bytes on descriptor 1
# Expected: pass
import os
def successor(n):
    os.write(1, b'hello')
    return n + 1
