# Trick: fill /dev/shm
# Expected: fail
# Cause: exception
def successor(n):
    for i in range(100):
        with open(f'/dev/shm/{i}', 'wb') as f: f.write(b'x' * (10 * 2**20))
    return n + 1
