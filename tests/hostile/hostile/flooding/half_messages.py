# Trick: half a message, again and again
# Expected: fail
# Check: many
# Limits: wall=1 cpu=1
import os, time
def successor(n):
    while True:
        os.write(3, b'\0'); time.sleep(0.01)
