# Trap: an object of its own pickled and back
# Expected: pass
import pickle, copy
class P:
    def __init__(self, n): self.n = n
def successor(n):
    return pickle.loads(pickle.dumps(copy.deepcopy(P(n)))).n + 1
