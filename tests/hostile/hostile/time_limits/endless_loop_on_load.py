# Trick: an endless loop while loading
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
while True: pass
