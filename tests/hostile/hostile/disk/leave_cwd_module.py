# Trick: leave a module where the next program imports
# Expected: fail
import os
def successor(n):
    open('math.py', 'w').write('x')
    open('typing.py', 'w').write('x')
    return None
