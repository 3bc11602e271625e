# Trick: messages that nobody requested
# Expected: fail
# Check: many
# Limits: wall=1 cpu=1
import os
def successor(n):
    while True: os.write(3, b'\0\0\0\2[]')
