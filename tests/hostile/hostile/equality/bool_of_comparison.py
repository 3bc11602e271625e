# Trick: __eq__ returns a truthy object
# Expected: fail
class Yes:
    def __bool__(self): return True
class Any:
    def __eq__(self, o): return Yes()
def successor(n):
    return Any()
