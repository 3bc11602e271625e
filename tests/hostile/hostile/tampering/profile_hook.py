# Trick: a profile function that leaves early
# Expected: fail
# Cause: exception
import sys, os
def hook(frame, event, arg):
    if event == 'return' and frame.f_code.co_name == 'successor':
        os._exit(0)
sys.setprofile(hook)
def successor(n):
    return 0
