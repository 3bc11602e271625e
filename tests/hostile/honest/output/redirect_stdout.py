# Trap: standard output redirected for a while
# Expected: pass
import contextlib, io
def successor(n):
    with contextlib.redirect_stdout(io.StringIO()) as s:
        print(n + 1)
    return int(s.getvalue())
