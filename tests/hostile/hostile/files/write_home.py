# Trick: a file in the home folder
# Expected: fail
import os
def successor(n):
    for home in ('@HOME@', os.path.expanduser('~'), '/root'):
        try: open(home + '/promptse_was_here', 'w').close()
        except OSError: pass
    return 0
