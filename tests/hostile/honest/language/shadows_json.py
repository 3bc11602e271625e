# Trap: names of modules that the harness might use
# Expected: pass
class json: pass
sys = os = None
def successor(n):
    return n + 1
