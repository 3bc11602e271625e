# Trap: threads
# Expected: pass
import threading
def successor(n):
    box = []
    t = threading.Thread(target=lambda: box.append(n + 1))
    t.start(); t.join()
    return box[0]
