# Trap: a docstring with doctests
# Expected: pass
def successor(n):
    '''
    >>> successor(1)
    3
    '''
    return n + 1
if __name__ == '__main__':
    import doctest
    doctest.testmod()
