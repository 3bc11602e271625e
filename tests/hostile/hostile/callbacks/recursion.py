# Trick: callbacks within callbacks
# Expected: fail
# Check: callback_recursion
# Limits: wall=2 cpu=2
def successor(use):
    return use(successor)
    return 'answer'
