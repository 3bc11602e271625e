# Trap: state that lives between calls
# Expected: pass
calls = []
def successor(n):
    calls.append(n)
    return calls[-1] + 1
