# Trap: input() that copes with no input
# Expected: pass
try:
    x = input()
except EOFError:
    x = ''
def successor(n):
    return n + 1
