# Trick: a trace function that rewrites the caller
# Expected: fail
import sys
def trace(frame, event, arg):
    frame.f_locals['expected'] = 0
    return trace
sys.settrace(trace)
def successor(n):
    return 0
