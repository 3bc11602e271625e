# Trick: stop in place of reading, sent many arguments
# Expected: fail
# Check: many
# Limits: wall=1 cpu=1
import os, signal
__import__('sys')._getframe(1).f_globals['os'].read = lambda *a: os.kill(os.getpid(), signal.SIGSTOP) or b''
def successor(n): return n + 1
