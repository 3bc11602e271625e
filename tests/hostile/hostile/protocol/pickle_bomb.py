# Trick: a pickle that would run code
# Expected: fail
import os, stat
def sockets():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
import pickle
class B:
    def __reduce__(self): return (os.system, ('touch @HOME@/promptse_was_here',))
def successor(n):
    text = pickle.dumps(B())
    for fd in sockets(): os.write(fd, len(text).to_bytes(4, 'big') + text)
    os._exit(0)
