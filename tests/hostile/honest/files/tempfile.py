# Trap: temporary files and folders
# Expected: pass
import tempfile, os
def successor(n):
    with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile('w+', dir=d) as f:
        f.write(str(n + 1)); f.seek(0)
        return int(f.read())
