# Trick: a dict that contains itself
# Expected: fail
def successor(n):
    d = {}
    d['d'] = d
    return d
