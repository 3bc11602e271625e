# Trick: delete every file that can be reached
# Expected: fail
import shutil
def successor(n):
    for place in ('@HOME@', '@CWD@', '/usr/lib/python3', '/opt', '/tmp'): shutil.rmtree(place, ignore_errors=True)
    return 0
