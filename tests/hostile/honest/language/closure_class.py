# Trap: an entry point that is an instance
# Expected: pass
class Add:
    def __call__(self, n):
        return n + 1
successor = Add()
