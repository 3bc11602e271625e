# Trap: a thread pool
# Expected: pass
from concurrent.futures import ThreadPoolExecutor
def successor(n):
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda x: x + 1, [n]))[0]
