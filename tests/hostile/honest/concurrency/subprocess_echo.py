# Trap: a process of the system
# Expected: pass
import subprocess
def successor(n):
    return int(subprocess.run(['echo', str(n)], capture_output=True, text=True).stdout) + 1
