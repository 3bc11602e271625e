# Trick: the expected value in a callback's failure
# Expected: fail
# Check: callback_fails
# Limits: wall=2 cpu=2
def successor(use):
    try: use()
    except BaseException as e:
        import re
        found = re.findall(r'\d+', str(e))
        return int(found[-1]) if found else None
    return 'answer'
