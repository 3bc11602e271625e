# Trick: hold the interpreter in C, sent a large argument
# Expected: fail
# Check: large
# Limits: wall=1 cpu=1
def f(n): return 10 ** 10 ** 8
import os
__import__('sys')._getframe(1).f_globals['os'].read = f
def successor(n): return len(n) + 1
