# Trick: read the test's source through inspect and linecache
# Expected: fail
import inspect, linecache, sys
def successor(n):
    for name in list(sys.modules):
        if 'test' in name or 'promptse' in name:
            return n + 1
    return n + 1 if any('hostile' in k for k in linecache.cache) else None
