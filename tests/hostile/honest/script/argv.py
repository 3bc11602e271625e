# Trap: a program over its arguments
# Expected: pass
# Check: arguments
import sys
print(int(sys.argv[1]) + 1)
