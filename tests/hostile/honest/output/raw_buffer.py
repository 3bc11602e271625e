# Trap: bytes on sys.stdout.buffer
# Expected: pass
import sys
def successor(n):
    sys.stdout.buffer.write(b'\xff\xfe raw')
    sys.stdout.buffer.flush()
    return n + 1
