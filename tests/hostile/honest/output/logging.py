# Trap: logging configured at import
# Expected: pass
import logging
logging.basicConfig(level='DEBUG')
def successor(n):
    logging.debug('n=%s', n)
    return n + 1
