# Trap: a pool of processes
# Expected: pass
import multiprocessing
def add(n):
    return n + 1
def successor(n):
    with multiprocessing.Pool(2) as pool:
        return pool.map(add, [n])[0]
