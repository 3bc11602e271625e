# Trick: thirty threads that spin
# Expected: fail
# Limits: wall=0.5 cpu=0.5
import threading
def spin():
    while True: pass
def successor(n):
    for _ in range(30): threading.Thread(target=spin).start()
    spin()
