# Trick: limits raised before the loop
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
import resource
for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_NPROC):
    try: resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (ValueError, OSError): pass
def successor(n):
    while True: pass
