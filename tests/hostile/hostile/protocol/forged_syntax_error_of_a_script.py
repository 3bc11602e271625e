# Trick: a script that says it has a syntax error, after it has printed the answer
# Expected: fail
# Cause: exception
# Check: script
import os

print(42, flush=True)
message = b'[[0,4,2,3,0,1,2,3],["result","syntax","SyntaxError: forged","",null]]'
os.write(3, len(message).to_bytes(4, "big") + message)


def successor(n):
    return n + 1
