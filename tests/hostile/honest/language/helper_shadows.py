# Trap: names that shadow built-ins
# Expected: pass
list = [1]
str = 'x'
len = 1
def successor(n, sum=1):
    return n + list[0] * len
