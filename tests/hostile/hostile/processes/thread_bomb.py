# Trick: threads without end
# Expected: fail
# Limits: wall=0.5 cpu=0.5
import threading, time
def successor(n):
    while True:
        try: threading.Thread(target=time.sleep, args=(60,)).start()
        except RuntimeError: pass
