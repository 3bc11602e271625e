# Trap: a process pool executor
# Expected: pass
from concurrent.futures import ProcessPoolExecutor
def add(n):
    return n + 1
def successor(n):
    with ProcessPoolExecutor(2) as pool:
        return pool.submit(add, n).result()
