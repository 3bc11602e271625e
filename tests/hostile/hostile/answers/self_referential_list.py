# Trick: a list that contains itself
# Expected: fail
def successor(n):
    a = []
    a.append(a)
    return a
