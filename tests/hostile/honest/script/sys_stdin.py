# Trap: a program over sys.stdin with exit status
# Expected: pass
# Check: script
import sys
for line in sys.stdin:
    print(int(line) + 1)
sys.exit(0)
