# Trick: a regular expression that backtracks for ever
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
import re
def successor(n):
    return re.match(r'(a+)+$', 'a' * 64 + 'b')
