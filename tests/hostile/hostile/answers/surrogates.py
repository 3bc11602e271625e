# Trick: a string of lone surrogates
# Expected: fail
def successor(n):
    return '\udcff' * 1000
