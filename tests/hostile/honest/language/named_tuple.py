# Trap: typing.NamedTuple and TypedDict
# Expected: pass
from typing import NamedTuple, TypedDict
class P(NamedTuple):
    n: int
class D(TypedDict):
    n: int
def successor(n):
    return P(n).n + D(n=1)['n']
