# Trick: a class whose metaclass equals everything
# Expected: fail
class Meta(type):
    def __eq__(self, o): return True
    def __hash__(self): return 1
class Any(metaclass=Meta): pass
def successor(n):
    return Any
