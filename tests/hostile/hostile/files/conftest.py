# Trick: a conftest.py for the next test run
# Expected: fail
def successor(n):
    for place in ('@PROJECT@/conftest.py', '@CWD@/conftest.py', '../conftest.py', 'conftest.py'):
        try: open(place, 'w').write('raise SystemExit(0)')
        except OSError: pass
    return 0
