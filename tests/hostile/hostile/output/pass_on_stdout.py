# Trick: a test report on standard output
# Expected: fail
def successor(n):
    print('1 passed in 0.01s\nOK\n')
    return 0
