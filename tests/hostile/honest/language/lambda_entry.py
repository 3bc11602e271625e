# Trap: an entry point that is a lambda
# Expected: pass
successor = lambda n: n + 1
