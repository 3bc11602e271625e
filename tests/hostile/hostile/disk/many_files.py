# Trick: a million files in /tmp
# Expected: fail
# Limits: wall=2 cpu=2
def successor(n):
    for i in range(10**6): open(f'/tmp/{i}', 'w').close()
    return n + 1
