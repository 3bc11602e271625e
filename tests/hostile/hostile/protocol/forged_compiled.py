# Trick: say twice that the program compiles, so that the next message is taken for the load's result
# Expected: fail
# Cause: exception
import os

message = b'[[0,1,2,1],["compiled"]]'
os.write(3, len(message).to_bytes(4, "big") + message)


def successor(n):
    return n + 1
