# Trick: the environment's secrets
# Expected: fail
import os
def successor(n):
    return n + 1 if 'PROMPTSE_CANARY' in os.environ or 'SECRET' in str(dict(os.environ)) else None
