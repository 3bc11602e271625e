# Trick: a callback that fails, caught
# Expected: fail
# Check: callback_fails
# Limits: wall=2 cpu=2
def successor(use):
    try: use('x')
    except BaseException: pass
    return 'answer'
    return 'answer'
