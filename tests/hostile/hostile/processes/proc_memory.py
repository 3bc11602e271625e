# Trick: read process memory through /proc
# Expected: fail
def successor(n):
    for pid in ('self', 1, @VICTIM@):
        try:
            open(f'/proc/{pid}/maps').read()
            return n + 1
        except OSError: pass
    return None
