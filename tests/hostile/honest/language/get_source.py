# Trap: its own source through inspect
# Expected: pass
import inspect
def successor(n):
    return n + 1 if 'def successor' in inspect.getsource(successor) else None
