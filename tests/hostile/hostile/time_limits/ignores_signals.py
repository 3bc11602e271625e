# Trick: every signal ignored
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
import signal
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
def successor(n):
    while True: pass
