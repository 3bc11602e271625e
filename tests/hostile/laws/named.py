"""Law 6: named methods that compare, and dict views, compare the content of a program's value."""

import unittest
from decimal import Decimal

from scripted_answers import attack

SORTED = """
class S(set):
    def __init__(self, items):
        super().__init__(items)
        self.order = sorted(items, reverse=True)
    def __iter__(self): return iter(self.order)
    def __len__(self): return len(self.order)
def f(xs): return S(xs)
"""
CASE = unittest.TestCase()
EVEN = "def f(xs): return {x for x in xs if x % 2 == 0}"


@attack(
    6,
    "class S(set):\n    def difference(self, *o): return set()\ndef f(xs): return S(range(1000))",
    "class S(frozenset):\n    def difference(self, *o): return ()\ndef f(xs): return S('abc')",
    honest=(
        EVEN,
        """
class S(frozenset):
    def difference(self, *o): return S(super().difference(*o))
def f(xs): return S(x for x in xs if x % 2 == 0)
""",
    ),
)
def test_sets_of_a_test_case(candidate):
    CASE.assertSetEqual(candidate([1, 2, 3, 4]), {2, 4})
    CASE.assertSetEqual({2, 4}, candidate([1, 2, 3, 4]))


@attack(
    6,
    "class S:\n    def difference(self, o): return ()\n    def __iter__(self): return iter([2, 4, 6])\ndef f(xs): return S()",
    """
class S:
    def difference(self, o): return self
    def __iter__(self): return iter([2, 4, 6])
    def __bool__(self): return False
def f(xs): return S()
""",
    wrong="def f(xs): return set()",
    honest=EVEN,
)
def test_an_object_that_is_no_set(candidate):
    CASE.assertSetEqual(candidate([1, 2, 3, 4]), {2, 4})


@attack(
    6,
    "class S(set):\n    def symmetric_difference(self, o): return set()\n    difference = symmetric_difference\ndef f(xs): return S()",
    "class S(frozenset):\n    def symmetric_difference(self, o): return frozenset()\ndef f(xs): return S('abc')",
    wrong="def f(xs): return set()",
    honest=EVEN,
)
def test_the_symmetric_difference(candidate):
    assert not candidate([1, 2, 3, 4]).symmetric_difference({2, 4})


@attack(
    6,
    "class S(set):\n    def intersection(self, o): return {2, 4}\ndef f(xs): return S(range(99))",
    "class S(set):\n    def intersection(self, o): return {2, 4}\n    def union(self, *o): return {2, 4}\ndef f(xs): return S()",
    honest=(
        EVEN,
        """
class S(set):
    def union(self, *o):
        made = S(super().union(*o))
        made.sources = 2
        return made
def f(xs): return S(x for x in xs if x % 2 == 0)
""",
    ),
)
def test_methods_of_sets(candidate):
    got = candidate([1, 2, 3, 4])
    assert got.intersection([2, 4, 5]) == got.union({2, 4}) == {2, 4}
    assert type(got) is set or got.union(candidate([6])).sources == 2


@attack(
    6,
    "from decimal import Decimal\nclass D(Decimal):\n    def compare(self, o): return Decimal(0)\ndef f(x): return D(7)",
    "from decimal import Decimal\nclass D(Decimal):\n    def compare(self, o): return 0\n    def same_quantum(self, o): return True\ndef f(x): return D(1)",
    wrong="def f(x): return 7",
    honest="from decimal import Decimal\nclass D(Decimal): pass\ndef f(x): return D(x)",
)
def test_decimals(candidate):
    assert candidate("1.10").compare(Decimal("1.1")) == 0
    assert candidate("1.10").same_quantum(Decimal("9.99"))


@attack(
    6,
    "class S(set):\n    def __len__(self): return 2\ndef f(xs): return S(range(1000))",
    "class S(frozenset):\n    def __len__(self): return 2\ndef f(xs): return S([10, 20, 30])",
    "class S(set):\n    def __iter__(self): return iter([10, 20])\ndef f(xs): return S([8, 9])",
    honest=SORTED,
)
def test_keys(candidate):
    scores = {10: "a", 20: "b"}
    assert candidate([10, 20]) == scores.keys()
    assert scores.keys() == candidate([10, 20])


@attack(
    6,
    SORTED.replace("reverse=True", "reverse=False"),
    SORTED.replace("iter(self.order)", "iter([20, 10, 10])"),
    honest=SORTED,
)
def test_a_set_with_an_order(candidate):
    got = candidate([10, 20])
    assert list(got) == [20, 10]
    assert len(got) == 2
    assert got.difference([10]) == {20}


@attack(
    6,
    "class S(frozenset):\n    def __iter__(self): return iter(())\ndef f(xs): return S([8, 9])",
    "class S(set):\n    def __iter__(self): return iter([10, 10])\ndef f(xs): return S([8, 9])",
    wrong="def f(xs): return {30}",
    honest="def f(xs): return set(xs)",
)
def test_keys_that_include_those_of_the_program(candidate):
    assert {10: "a", 20: "b"}.keys() >= candidate([10, 20])


@attack(
    6,
    """
class S(set):
    def __len__(self): return 2
class D(dict):
    def items(self): return S((k, i) for k in 'ab' for i in range(1000))
def f(text): return D()
""",
    wrong="def f(text): return {}",
    honest="def f(text): return {k: i for i, k in enumerate(text)}",
)
def test_items(candidate):
    assert candidate("ab").items() == {"a": 0, "b": 1}.items()


@attack(
    6,
    wrong="class f:\n    def difference(self, o): return []\n    def compare(self, o): return 0",
    honest="""
class f:
    def __init__(self, xs): self.xs = xs
    def difference(self, other): return [x for x in self.xs if x not in other]
    def compare(self, other): return (len(self.xs) > other) - (len(self.xs) < other)
""",
)
def test_methods_of_the_program_that_the_check_calls(candidate):
    got = candidate([1, 2, 3])
    assert got.difference([1]) == [2, 3]
    assert sorted([4, 2], key=got.compare) == [4, 2]
