# Trap: a process and a queue
# Expected: pass
import multiprocessing
def work(n, q):
    q.put(n + 1)
def successor(n):
    q = multiprocessing.Queue()
    p = multiprocessing.Process(target=work, args=(n, q))
    p.start()
    result = q.get()
    p.join()
    return result
