# Trick: an exception that cannot be printed
# Expected: fail
# Cause: exception
class E(Exception):
    def __str__(self): raise RuntimeError
    def __repr__(self): raise RuntimeError
def successor(n):
    raise E(object())
