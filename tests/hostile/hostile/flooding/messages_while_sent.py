# Trick: messages that nobody requested, sent a large argument
# Expected: fail
# Check: large
# Limits: wall=1 cpu=1
import os
while True: os.write(3, b'\0\0\xff\xfb' + b'x' * 65531)
