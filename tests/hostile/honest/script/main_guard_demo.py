# Trap: a demonstration under the main guard that never ends
# Expected: pass
def successor(n):
    return n + 1
if __name__ == '__main__':
    while True:
        print(successor(int(input())))
