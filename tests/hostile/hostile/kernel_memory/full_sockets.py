# Trick: thousands of full sockets in many processes
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
    import socket, time
    import resource
    for _ in range(30):
        if os.fork() == 0:
            kept = []
            try:
                while True:
                    a, b = socket.socketpair(); a.setblocking(False); kept += [a, b]
                    try:
                        while True: a.send(b'x' * 65536)
                    except BlockingIOError: pass
            except OSError: time.sleep(1000)
    time.sleep(20)
    return n + 1
