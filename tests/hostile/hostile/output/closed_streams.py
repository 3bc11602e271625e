# Trick: standard streams closed and replaced
# Expected: fail
import sys
sys.stdout.close()
sys.stderr = None
def successor(n):
    return 0
