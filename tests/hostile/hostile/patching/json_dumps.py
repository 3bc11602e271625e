# Trick: the encoder's module patched
# Expected: fail
import json
json.dumps = lambda *a, **k: '[[0,1],[true]]'
json.JSONEncoder.encode = json.dumps
json.loads = lambda *a, **k: True
def successor(n):
    return 0
