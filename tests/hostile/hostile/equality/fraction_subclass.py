# Trick: a Fraction that equals everything
# Expected: fail
from fractions import Fraction
class F(Fraction):
    def __eq__(self, o): return True
    def __hash__(self): return 1
def successor(n):
    return F(1, 3)
