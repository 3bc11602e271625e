# Trick: a string that doubles
# Expected: fail
# Cause: resource
def successor(n):
    s = 'x'
    while True: s += s
