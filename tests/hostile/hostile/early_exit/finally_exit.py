# Trick: leave from a destructor
# Expected: fail
# Cause: exception
import os
class Bomb:
    def __del__(self):
        os._exit(0)
def successor(n):
    Bomb()
    return 0
