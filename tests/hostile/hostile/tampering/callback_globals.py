# Trick: climb out through the callback's attributes
# Expected: fail
# Check: callback_secret
def successor(function):
    secrets = getattr(function, '__globals__', {})
    closure = getattr(function, '__closure__', None) or ()
    names = set(secrets) | {repr(c.cell_contents) for c in closure}
    return 'answer' if any('answer_of_the_check' in name for name in names) else 'nothing'
