# Trick: a module in site-packages
# Expected: fail
import sys
def successor(n):
    for place in [*sys.path, '@SITE@']:
        try:
            open(place + '/promptse_was_here.pth', 'w').close()
            return n + 1
        except OSError: pass
    return None
