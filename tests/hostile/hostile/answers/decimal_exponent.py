# Trick: a Decimal whose int() has a billion digits
# Expected: fail
# Check: as_int
from decimal import Decimal
def successor(n):
    return Decimal('1e999999999')
