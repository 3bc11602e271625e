# Trap: os.getcwd() and a relative path
# Expected: pass
import os
def successor(n):
    os.getcwd()
    with open('x.txt', 'w') as f: f.write(str(n + 1))
    return int(open('x.txt').read())
