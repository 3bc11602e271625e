# Trap: __file__ and __name__
# Expected: pass
import pathlib
here = pathlib.Path(__file__).name
def successor(n):
    return n + 1 if here and __name__ != '__main__' else None
