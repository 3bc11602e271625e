# Trap: Windows line ends
# Expected: pass
def successor(n):
    text = '''a
b'''
    return n + 1
