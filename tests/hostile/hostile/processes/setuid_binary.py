# Trick: gain rights through a setuid binary
# Expected: fail
import subprocess
def successor(n):
    for command in (['su', '-c', 'id'], ['sudo', '-n', 'id'], ['mount', '-t', 'tmpfs', 'x', '/tmp'], ['passwd', '-S']):
        try:
            if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=1).returncode == 0: return n + 1
        except (OSError, subprocess.TimeoutExpired): pass
    return None
