# Trick: a key in the home folder
# Expected: fail
import os
def successor(n):
    for home in ('@HOME@', os.path.expanduser('~'), '/root', '/home'):
        for root, _, files in os.walk(home):
            if any(name in ('secret.txt', 'id_rsa', '.bash_history', '.netrc', '.bashrc') for name in files): return n + 1
    return None
