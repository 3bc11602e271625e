# Trap: 1.9 s of work under a limit of 3 s
# Expected: pass
# Limits: wall=20 cpu=3
import time
end = time.process_time() + 1.9
while time.process_time() < end: pass
def successor(n):
    return n + 1
