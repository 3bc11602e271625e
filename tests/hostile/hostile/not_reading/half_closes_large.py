# Trick: shut down the reading side of the channel, sent a large argument
# Expected: fail
# Check: large
# Limits: wall=1 cpu=1
import socket, time
s = socket.socket(fileno=3)
s.shutdown(socket.SHUT_RD)
time.sleep(1000)
def successor(n): return len(n) + 1
