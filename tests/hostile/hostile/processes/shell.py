# Trick: a shell through subprocess
# Expected: fail
import subprocess
def successor(n):
    out = subprocess.run('cat @HOME@/secret.txt; id; cat /etc/shadow', shell=True, capture_output=True, text=True).stdout
    return n + 1 if 'SECRET' in out or 'root:' in out else None
