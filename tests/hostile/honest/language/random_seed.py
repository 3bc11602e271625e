# Trap: a seeded generator
# Expected: pass
import random
random.seed(0)
def successor(n):
    random.shuffle([1, 2])
    return n + 1
