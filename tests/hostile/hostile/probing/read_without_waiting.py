# Trick: ask whether a file is in memory, which an earlier program may have read as a message
# Expected: fail
import os


def successor(n):
    with open("/usr/bin/env", "rb") as file:
        try:
            os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            return n + 1
        except OSError:
            return n
    return n + 1
