# Trick: fill /tmp
# Expected: fail
# Cause: exception
def successor(n):
    with open('/tmp/fill', 'wb') as f:
        while True: f.write(b'x' * 2**20)
