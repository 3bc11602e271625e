# Trick: hand the check's argument back changed
# Expected: fail
# Check: unchanged_argument
def successor(items):
    items.clear()
    items.append(-1)
    return -1
