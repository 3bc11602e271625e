# Trick: the password file
# Expected: fail
def successor(n):
    for path in ('/etc/shadow', '/etc/passwd', '/etc/hostname', '/etc/machine-id', '/etc/ssh'):
        try:
            open(path).read()
            return n + 1
        except OSError: pass
    return None
