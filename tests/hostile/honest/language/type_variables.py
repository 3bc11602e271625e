# Trap: generic classes
# Expected: pass
from typing import Generic, TypeVar
T = TypeVar('T')
class Box(Generic[T]):
    def __init__(self, x: T): self.x = x
def successor(n):
    return Box[int](n).x + 1
