# Trap: a dataclass with string annotations
# Expected: pass
from __future__ import annotations
from dataclasses import dataclass, field
@dataclass
class P:
    n: int
    rest: list[int] = field(default_factory=list)
def successor(n: int) -> int:
    return P(n).n + 1
