# Trick: output without end while memory grows
# Expected: fail
# Limits: wall=2 cpu=2
import os
def successor(n):
    items = []
    while True:
        os.write(1, b'x' * 4096)
        items.append(bytearray(2**18))
