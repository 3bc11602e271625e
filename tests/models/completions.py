"""Answers in the style of models to "write successor(n)" or "write a script that prints n + 1".

Each is (use, verdict, text). The use ``call`` imports the program and calls ``successor``. The use
``run`` runs it as a script that reads a number from standard input.
"""

# ruff: noqa: E501, RUF001 - answers as models write them

from __future__ import annotations

F = "```"
RIGHT = "def successor(n):\n    return n + 1\n"
WRONG = "def successor(n):\n    return n + 2\n"


def py(code, language="python"):
    return f"{F}{language}\n{code.rstrip()}\n{F}"


# Programs whose entry point needs statements that it does not name.
NEEDS_MORE = {
    "a registry filled by a decorator": """
HANDLERS = {}

def register(name):
    def wrap(function):
        HANDLERS[name] = function
        return function
    return wrap

@register("inc")
def increment(n):
    return n + 1

def successor(n):
    return HANDLERS["inc"](n)
""",
    "a registry that is an object": """
class Registry:
    def __init__(self):
        self.items = {}
    def add(self, function):
        self.items[function.__name__] = function
        return function

registry = Registry()

@registry.add
def increment(n):
    return n + 1

def successor(n):
    return registry.items["increment"](n)
""",
    "a call of init() that sets a global": """
STEP = 0

def init():
    global STEP
    STEP = 1

def successor(n):
    return n + STEP

init()
""",
    "a table that a call fills": """
TABLE = {}

def fill(limit):
    for i in range(-10, limit):
        TABLE[i] = i + 1

fill(100)

def successor(n):
    return TABLE[n]
""",
    "a list that a call appends to": """
primes = []
def sieve(limit):
    for i in range(2, limit):
        if all(i % p for p in primes):
            primes.append(i)
sieve(100)
def successor(n):
    return n + primes[1] - primes[0]
""",
    "a container that is passed to a function": """
def fill(table):
    table["step"] = 1
CONFIG = {}
fill(CONFIG)
def successor(n):
    return n + CONFIG["step"]
""",
    "singledispatch": """
from functools import singledispatch

@singledispatch
def successor(n):
    raise TypeError(n)

@successor.register
def _(n: int):
    return n + 1

@successor.register(str)
def _from_text(n):
    return successor(int(n))

print(successor(3))
""",
    "subclasses that are found by __subclasses__": """
class Operation:
    def apply(self, n):
        raise NotImplementedError

class Increment(Operation):
    def apply(self, n):
        return n + 1

def successor(n):
    return Operation.__subclasses__()[0]().apply(n)
""",
    "subclasses that __init_subclass__ registers": """
PLUGINS = []

class Plugin:
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        PLUGINS.append(cls)

class Increment(Plugin):
    def run(self, n):
        return n + 1

def successor(n):
    return PLUGINS[0]().run(n)
""",
    "subclasses that a metaclass registers": """
class Meta(type):
    known = {}
    def __new__(mcs, name, bases, body):
        cls = super().__new__(mcs, name, bases, body)
        Meta.known[name] = cls
        return cls

class Increment(metaclass=Meta):
    def run(self, n):
        return n + 1

def successor(n):
    return Meta.known["Increment"]().run(n)
""",
    "functions that are looked up in globals()": """
def op_inc(n):
    return n + 1

def op_dec(n):
    return n - 1

def successor(n):
    return globals()["op_" + "inc"](n)
""",
    "names in an expression that is evaluated": """
step = 1
def successor(n):
    return eval("n + st" + "ep")
""",
    "an entry point that exec defines": """
source = "def {}(n):\\n    return n + {}"
exec(source.format("successor", 1))
""",
    "an entry point in globals()": """
def make(step):
    return lambda n: n + step
for name, step in [("predecessor", -1), ("successor", 1)]:
    globals()[name] = make(step)
""",
    "an entry point set on the module": """
import sys
def add_one(n):
    return n + 1
setattr(sys.modules[__name__], "successor", add_one)
""",
    "a method that is assigned to a class": """
class Number:
    def __init__(self, n):
        self.n = n

def add_one(self):
    return self.n + 1

Number.successor = add_one

def successor(n):
    return Number(n).successor()
""",
    "a method that setattr adds": """
class Number:
    def __init__(self, n):
        self.n = n

for name, step in {"up": 1, "down": -1}.items():
    setattr(Number, name, lambda self, step=step: self.n + step)

def successor(n):
    return Number(n).up()
""",
    "an attribute of the entry point": """
def successor(n):
    return n + successor.step
successor.step = 1
print(successor(2))
""",
    "a decorator written by hand": """
def add_one(function):
    def inner(n):
        return function(n) + 1
    return inner

def successor(n):
    return n

successor = add_one(successor)
""",
    "a registry filled in a loop": """
OPS = {}
def register(name, function):
    OPS[name] = function
for name, step in (("inc", 1), ("dec", -1)):
    register(name, lambda n, step=step: n + step)
def successor(n):
    return OPS["inc"](n)
""",
    "a table that is updated": """
TABLE = {"a": 0}
TABLE.update(step=1)
TABLE |= {"more": 2}
def successor(n):
    return n + TABLE["step"]
""",
    "an import that may fail": """
try:
    import nosuchmodule as maths
except ImportError:
    import math as maths
def successor(n):
    return maths.floor(n) + 1
""",
    "settings of modules": """
import sys
from decimal import Decimal, getcontext
sys.setrecursionlimit(5000)
getcontext().prec = 50
def successor(n):
    assert getcontext().prec == 50
    return count(n) if n > 0 else n + 1
def count(n):
    return 1 if n == 0 else 1 + count(n - 1)
print(successor(5))
""",
    "classes that a dataclass decorator makes": """
from __future__ import annotations
from dataclasses import dataclass, field

@dataclass
class Counter:
    value: int
    steps: list[int] = field(default_factory=lambda: [1])

    def next(self) -> Counter:
        return Counter(self.value + self.steps[0])

def successor(n: int) -> int:
    return Counter(n).next().value
""",
    "an enumeration with behaviour": """
from enum import Enum, auto
class Direction(Enum):
    UP = auto()
    DOWN = auto()
    def step(self):
        return 1 if self is Direction.UP else -1
def successor(n):
    return n + Direction.UP.step()
""",
    "a conditional definition": """
import sys
if sys.version_info >= (3, 8):
    def add(a, b, /):
        return a + b
else:
    def add(a, b):
        return a + b
def successor(n):
    return add(n, 1)
""",
    "a module-level context manager": """
import contextlib
with contextlib.suppress(KeyError):
    STEP = {"a": 1}["a"]
def successor(n):
    return n + STEP
""",
    "a cached property and a class method": """
class Step:
    _instance = None
    @classmethod
    def get(cls):
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance
    @property
    def value(self):
        return 1
def successor(n):
    return n + Step.get().value
""",
    "mutual recursion": """
def is_even(n):
    return n == 0 or is_odd(n - 1)
def is_odd(n):
    return n != 0 and is_even(n - 1)
def successor(n):
    return n + 1 if n < 0 or is_even(n) or is_odd(n) else None
""",
}

# Statements beside the function that must not be executed with it.
DEMONSTRATIONS = {
    "print calls": RIGHT + "\nprint(successor(1))\nprint(f'{successor(2)}')",
    "bare assertions": RIGHT + "\nassert successor(1) == 2\nassert successor(2) == 4, 'typo'",
    "a main function that reads input": RIGHT
    + "\ndef main():\n    n = int(input('n: '))\n    print(successor(n))\n\nmain()",
    "input at module level": RIGHT + "\nn = int(input('Enter n: '))\nprint(successor(n))",
    "arguments of the command line": "import sys\n"
    + RIGHT
    + "\nnumber = int(sys.argv[1])\nprint(successor(number))",
    "a main guard": RIGHT
    + "\nif __name__ == '__main__':\n    import doctest\n    doctest.testmod()\n    raise SystemExit",
    "an exit with the result of main": "import sys\n"
    + RIGHT
    + "\ndef main():\n    print(successor(int(sys.argv[1])))\n    return 0\n\nsys.exit(main())",
    "a unittest": "import unittest\n"
    + RIGHT
    + "\nclass TestSuccessor(unittest.TestCase):\n    def test_it(self):\n"
    "        self.assertEqual(successor(1), 2)\n\nunittest.main()",
    "pytest tests": "import pytest\n"
    + RIGHT
    + '\n@pytest.mark.parametrize("n", [1, 2])\ndef test_it(n):\n    assert successor(n) == n + 1',
    "a test harness of its own": RIGHT
    + "\ndef check(candidate):\n    assert candidate(1) == 99\n\ncheck(successor)",
    "a loop of test cases": RIGHT
    + "\ntests = [(1, 2), (2, 4)]\nfor n, expected in tests:\n    assert successor(n) == expected",
    "a plot of the results": "import matplotlib.pyplot as plt\n"
    + RIGHT
    + "\nplt.plot([successor(n) for n in range(9)])\nplt.show()",
    "an endless prompt": RIGHT
    + "\nwhile True:\n    text = input('> ')\n    if text == 'q':\n        break\n"
    "    print(successor(int(text)))",
    "a time measurement": "import timeit\n"
    + RIGHT
    + "\nprint(timeit.timeit('successor(1)', globals=globals(), number=10**12))",
    # What these read is not there in the jail.
    "arguments that are parsed": "import argparse\nparser = argparse.ArgumentParser()\n"
    f"parser.add_argument('n', type=int)\n{RIGHT}\nargs = parser.parse_args()\n"
    "print(successor(args.n))",
    "numbers of a file": f"{RIGHT}\nwith open('missing.txt') as file:\n    numbers = [int(n) for n in file]\n"
    "print([successor(n) for n in numbers])",
    "a table of a package": f"import missing_package\n{RIGHT}\nframe = missing_package.DataFrame([1])\n"
    "print(frame.apply(successor))",
    "an application": f"from missing_package import App\napp = App(__name__)\n{RIGHT}",
    "a variable of the environment": f"import os\n{RIGHT}\ntoken = os.environ['MISSING_TOKEN']",
}


def _answers():
    for name, code in NEEDS_MORE.items():
        yield f"needed: {name}", "call", "pass", f"Here you go:\n\n{py(code)}\n\nIt works."
    for name, code in DEMONSTRATIONS.items():
        yield f"demonstrated: {name}", "call", "pass", py(code)


MAIN = """def successor(n):
    return n + 1


def main():
    n = int(input())
    print(successor(n))
"""
SCRIPTS = {
    "a main guard": py(MAIN + '\n\nif __name__ == "__main__":\n    main()'),
    "a main guard in single quotes": py(MAIN + "\n\nif __name__=='__main__': main()"),
    "a plain call of main": py(MAIN + "\n\nmain()"),
    "an exit with the result of main": py("import sys\n" + MAIN + "\nsys.exit(main())"),
    "no functions": py("n = int(input())\nprint(n + 1)"),
    "a function, then statements": py(
        RIGHT + "\nn = int(input())\nresult = successor(n)\nprint(result)"
    ),
    "sys.stdin": py(
        "import sys\n\ndef run():\n    for line in sys.stdin:\n        print(int(line) + 1)\n\nrun()"
    ),
    "all of standard input": py(
        "import sys\ndata = sys.stdin.read().split()\nprint(int(data[0]) + 1)"
    ),
    "another name for input": py(
        "import sys\ninput = sys.stdin.readline\n\ndef solve():\n    n = int(input())\n"
        "    print(n + 1)\n\nsolve()"
    ),
    "a thread with a large stack": py(
        "import sys, threading\ndef main():\n    print(int(input()) + 1)\n"
        "threading.stack_size(2**25)\nthread = threading.Thread(target=main)\nthread.start()\nthread.join()"
    ),
    "asyncio": py(
        "import asyncio\nasync def main():\n    print(int(input()) + 1)\nasyncio.run(main())"
    ),
    "a class with a run method": py(
        "class App:\n    def run(self):\n        print(int(input()) + 1)\n\nApp().run()"
    ),
    "no fence": MAIN + '\n\nif __name__ == "__main__":\n    main()\n',
    "an example of input and output": py("n = int(input())\nprint(n + 1)")
    + f"\n\nInput:\n{F}\n41\n{F}\nOutput:\n{F}\n42\n{F}",
    "a command to run it": py(MAIN + "\nmain()", "python")
    + f"\n\nRun it:\n{F}bash\n$ python script.py\n{F}",
    "parts in several blocks": "First the function:\n\n"
    + py(RIGHT)
    + "\n\nThen the main part:\n\n"
    + py("if __name__ == '__main__':\n    print(successor(int(input())))"),
    "a correction": py("print(int(input()) - 1)")
    + "\nOops, the sign. Corrected:\n"
    + py("print(int(input()) + 1)"),
    "lines of it explained": py(MAIN + "\nmain()")
    + "\n\nHere `n = int(input())` reads the number:\n\n"
    + py("n = int(input())"),
    "assertions that guard the input": py(
        "n = int(input())\nassert n > 0, 'a positive number'\nprint(n + 1)"
    ),
    "a try around it": py(
        "try:\n    n = int(input())\nexcept ValueError:\n    print('bad')\nelse:\n    print(n + 1)"
    ),
}
SHAPES = {
    "prose around a fence": f"Sure! Here's the function:\n\n{py(RIGHT)}\n\nIt runs in O(1).",
    "German prose": f"Natürlich! Hier ist die Funktion:\n\n{py(RIGHT)}\n\nDas war's – viel Erfolg!",
    "Chinese prose": f"好的，下面是代码：\n\n{py(RIGHT)}\n\n该函数返回 n 的后继。",
    "German prose, no fence": f"Klar, so geht's:\n\n{RIGHT}\nDie Funktion gibt n + 1 zurück.",
    "Chinese prose, no fence": f"代码如下：\n\n{RIGHT}\n时间复杂度是 O(1)。",
    "a fence of tildes": f"~~~python\n{RIGHT}~~~",
    "an unclosed fence": f"Here:\n\n{F}python\n{RIGHT}",
    "code indented by four": "Use this:\n\n    def successor(n):\n        return n + 1\n\nDone.",
    "a REPL transcript": f"{F}python\n>>> def successor(n):\n...     return n + 1\n...\n"
    f">>> successor(1)\n2\n{F}",
    "a REPL transcript without a fence": ">>> def successor(n):\n...     return n + 1\n...\n"
    ">>> successor(1)\n2\n",
    "an IPython transcript": f"{F}\nIn [1]: def successor(n):\n   ...:     return n + 1\n   ...:\n\n"
    f"In [2]: successor(1)\nOut[2]: 2\n{F}",
    "a doctest echo": f"{py(RIGHT)}\n\n{py('>>> successor(1)' + chr(10) + '2')}",
    "a docstring with doctests": py(
        'def successor(n):\n    """Next.\n\n    >>> successor(1)\n    2\n    """\n    return n + 1'
    ),
    "thoughts first": f"<think>\nMaybe {py(WRONG)}? No.\n</think>\n\n{py(RIGHT)}",
    "thoughts in brackets": f"[THINK]{py(WRONG)}[/THINK]\n{py(RIGHT)}",
    "channels": f"<|channel|>analysis<|message|>{py(WRONG)}<|end|><|start|>assistant"
    f"<|channel|>final<|message|>{py(RIGHT)}<|return|>",
    "two versions, the second corrects": f"{py(WRONG)}\n\nThat adds 2. Corrected:\n\n{py(RIGHT)}",
    "two versions in one block": py(WRONG + "\n# corrected\n" + RIGHT),
    "a wrong version at the end": f"{py(RIGHT)}\n\nA common, but wrong version:\n\n{py(WRONG)}",
    "a wrong version first": f"Don't write this:\n\n{py(WRONG)}\n\nWrite this:\n\n{py(RIGHT)}",
    "a diff of a whole file": f"{F}diff\n--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,2 @@\n"
    f"+def successor(n):\n+    return n + 1\n{F}",
    "a diff that corrects": f"{py(WRONG)}\n\nFix:\n\n{F}diff\n@@ -1,2 +1,2 @@\n def successor(n):\n"
    f"-    return n + 2\n+    return n + 1\n{F}",
    "a notebook": '{"cells": [{"cell_type": "markdown", "source": ["# Successor"]}, {"cell_type": '
    '"code", "source": ["def successor(n):\\n", "    return n + 1\\n"], "outputs": []}], '
    '"nbformat": 4}',
    "cells with magics": py("%matplotlib inline\n!pip install numpy\n\n" + RIGHT),
    "an installation before": f"{F}bash\npip install numpy\n{F}\n\n{py(RIGHT)}",
    "usage in a later block": f"{py(RIGHT)}\n\nUsage:\n\n{py('print(successor(41))  # 42')}",
    "an explanation between blocks": f"{py('STEP = 1')}\n\nThen:\n\n"
    + py("def successor(n):\n    return n + STEP"),
    "a numbered list": f"1. The function:\n\n   {F}python\n   def successor(n):\n"
    f"       return n + 1\n   {F}\n\n2. Done.",
    "a table and headings": f"## Solution\n\n{py(RIGHT)}\n\n| n | result |\n|---|---|\n| 1 | 2 |",
    "tags instead of a fence": f"<answer>\n{RIGHT}</answer>",
    "another language first": f"In JavaScript:\n\n{py('const f = n => n + 1', 'javascript')}\n\n"
    f"In Python:\n\n{py(RIGHT)}",
    "a lambda": py("successor = lambda n: n + 1"),
    "an async helper beside": py(RIGHT + "\nasync def unused():\n    pass"),
    "a class that holds it, and a wrapper": py(
        "class Solution:\n    def successor(self, n):\n        return n + 1\n\n"
        "def successor(n):\n    return Solution().successor(n)"
    ),
    "a variable of the demonstration with a parameter's name": py(
        RIGHT + "\nn = int(input())\nprint(successor(n))"
    ),
    "text cut off after the function": f"{py(RIGHT)}\n\nThe function ta",
    "two files": f"`steps.py`:\n\n{py('STEP = 1')}\n\n`main.py`:\n\n"
    + py("from steps import STEP\n\ndef successor(n):\n    return n + STEP"),
    "a fence in a docstring": py(
        'def successor(n):\n    """Next.\n\n    ```python\n    successor(1)\n    ```\n    """\n    return n + 1'
    ),
    "a fence in a quotation": f"> {F}python\n> def successor(n):\n>     return n + 1\n> {F}",
    "code on the line of the fence": f"{F}python def successor(n):\n    return n + 1\n{F}",
    "spaces that do not break": py("def successor(n):\n\u00a0\u00a0\u00a0\u00a0return n\u00a0+ 1"),
    "a field of an object": '{"explanation": "adds 1", "code": "def successor(n):\\n    return n + 1"}',
    "a wrong function": py(WRONG),
    "a refusal": "I'm sorry, but I can't help with that.",
    "an apology and a question": "Could you tell me what a successor is?",
    "a syntax error": py("def successor(n)\n    return n + 1"),
    "another name": py(RIGHT.replace("successor", "next_number")),
    "a stub that is left to the user": py("def successor(n):\n    # TODO\n    pass"),
    "pseudo-code": f"{F}\nfunction successor(n)\n    result is n plus one\n{F}",
}
_NOT_PASSED = {
    "a wrong function": "fail",
    "a refusal": "no_code",
    "an apology and a question": "no_code",
    "a syntax error": "fail",
    "another name": "fail",
    "a stub that is left to the user": "fail",
    "pseudo-code": "no_code",
}
ANSWERS = {
    **{name: (how, verdict, text) for name, how, verdict, text in _answers()},
    **{f"script: {name}": ("run", "pass", text) for name, text in SCRIPTS.items()},
    **{
        f"shape: {name}": ("call", _NOT_PASSED.get(name, "pass"), text)
        for name, text in SHAPES.items()
    },
}
