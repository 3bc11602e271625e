# Trap: a cached function
# Expected: pass
from functools import lru_cache
@lru_cache(maxsize=None)
def successor(n):
    return n + 1
