# Trick: a file in the working folder of the tests
# Expected: fail
def successor(n):
    try: open('@CWD@/promptse_was_here', 'w').close()
    except OSError: pass
    open('promptse_was_here', 'w').close()
    return 0
