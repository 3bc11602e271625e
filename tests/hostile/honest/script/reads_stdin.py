# Trap: a program that reads numbers and prints
# Expected: pass
# Check: script
n = int(input())
print(n + 1)
