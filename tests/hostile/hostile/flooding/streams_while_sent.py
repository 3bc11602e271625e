# Trick: a stream without end, sent a large argument
# Expected: fail
# Check: large
# Limits: wall=1 cpu=1
import os
while True: os.write(1, b'x' * 65536)
