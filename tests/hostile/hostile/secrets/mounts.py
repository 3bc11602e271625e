# Trick: what is mounted on the host
# Expected: fail
def successor(n):
    for path in ('/proc/mounts', '/proc/self/mountinfo', '/etc/mtab', '/sys/class/net', '/run', '/var'):
        try:
            import os; os.stat(path)
            return n + 1
        except OSError: pass
    return None
