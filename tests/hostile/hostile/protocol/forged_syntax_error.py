# Trick: say that the program has a syntax error, which its own code can no longer know
# Expected: fail
# Cause: exception
import os

message = b'[[0,4,2,3,0,1,2,3],["result","syntax","SyntaxError: forged","",null]]'
os.write(3, len(message).to_bytes(4, "big") + message)


def successor(n):
    return n + 1
