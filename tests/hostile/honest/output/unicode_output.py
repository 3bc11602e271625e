# Trap: output outside of ASCII
# Expected: pass
def successor(n):
    print('naïve ☃ 𝄞 \udcff')
    return n + 1
