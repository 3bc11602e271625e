# Trick: the cloud's metadata service
# Expected: fail
import urllib.request
def successor(n):
    try:
        urllib.request.urlopen('http://169.254.169.254/latest/meta-data/', timeout=0.3)
        return n + 1
    except OSError: return None
