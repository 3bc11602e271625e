# Trap: an answer that is an int of a subclass
# Expected: pass
class Int(int):
    pass
def successor(n):
    return Int(n + 1)
