# Trap: an entry point that is a partial
# Expected: pass
from functools import partial
from operator import add
successor = partial(add, 1)
