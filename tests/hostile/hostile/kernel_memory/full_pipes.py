# Trick: thousands of full pipes in many processes
# Expected: fail
# Limits: wall=60 memory=268435456
import ctypes, errno, os, platform
L = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    x = L.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if x < 0: raise OSError(ctypes.get_errno(), 'refused')
    return x
X86 = platform.machine() == 'x86_64'
def successor(n):
    import time
    for _ in range(40):
        if os.fork() == 0:
            kept = []
            try:
                while True:
                    r, w = os.pipe(); os.set_blocking(w, False); kept += [r, w]
                    try:
                        while True: os.write(w, b'x' * 65536)
                    except BlockingIOError: pass
            except OSError: time.sleep(1000)
    time.sleep(20)
    return n + 1
