# Trick: a source that takes the compiler for ever
# Expected: fail
# Limits: wall=0.5 cpu=0.5
x = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
def successor(n):
    return compile('-' * 10_000_000 + '1', 'x', 'eval')
