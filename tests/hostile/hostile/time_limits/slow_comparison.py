# Trick: a comparison that never ends
# Expected: fail
# Limits: wall=0.5 cpu=0.5
class Slow:
    def __eq__(self, o):
        while True: pass
    def __bool__(self):
        while True: pass
def successor(n):
    return Slow()
