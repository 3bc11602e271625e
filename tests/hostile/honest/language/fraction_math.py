# Trap: fractions and decimals
# Expected: pass
from fractions import Fraction
from decimal import Decimal
def successor(n):
    return Fraction(n) + Fraction(1) if n % 2 else Decimal(n) + 1
