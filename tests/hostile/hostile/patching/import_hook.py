# Trick: every import gives a module that agrees
# Expected: fail
import builtins
real = builtins.__import__
class Agree:
    def __getattr__(self, n): return lambda *a, **k: True
builtins.__import__ = lambda *a, **k: Agree()
def successor(n):
    return 0
