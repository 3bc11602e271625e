# Trap: exec and eval
# Expected: pass
exec('def successor(n):\n    return eval("n + 1")')
