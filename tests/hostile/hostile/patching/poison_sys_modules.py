# Trick: pytest and its friends replaced in sys.modules
# Expected: fail
import sys, types
for name in ('pytest', '_pytest', 'unittest', 'pytest_promptse', 'json', 'operator'):
    sys.modules[name] = types.ModuleType(name)
def successor(n):
    return 0
