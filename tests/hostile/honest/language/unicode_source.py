# Trap: names and text outside of ASCII
# Expected: pass
größe = 1
def successor(n):
    '''☃'''
    return n + größe
