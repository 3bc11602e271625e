"""Law 2: annotations of the program, which the standard library evaluates in the check."""

import inspect
import typing

from scripted_answers import attack


PWN = '''
def f(x): return 0
f.__annotations__ = {"x": "int", "return": "__import__('pathlib').Path('/HARM/pwned').write_text('x') and int"}
'''
PWN2 = '''
def f(x): return 0
f.__annotations__ = {"x": "int", "return": "__import__('builtins').setattr(__import__('builtins'), 'isinstance', lambda *a: True) or exec(\\"import sys\\nfr=sys._getframe()\\nwhile fr:\\n    if 'expected' in fr.f_locals and isinstance(fr.f_locals['expected'], list): fr.f_locals['expected'][:] = [0]*3\\n    fr = fr.f_back\\") or int"}
'''


@attack(2, PWN, PWN2, wrong="def f(x: int) -> int: return 0", honest="def f(x: int) -> int: return x * x")
def test_hints_of_the_entry_point(candidate):
    expected = [0, 1, 4]
    assert typing.get_type_hints(candidate)["return"] is int
    assert [candidate(x) for x in range(3)] == expected


@attack(2, PWN, PWN2, wrong="def f(x: int) -> int: return 0", honest="def f(x: int) -> int: return x * x")
def test_hints_by_inspect(candidate):
    expected = [0, 1, 4]
    assert inspect.get_annotations(candidate, eval_str=True)["return"] is int
    assert [candidate(x) for x in range(3)] == expected


@attack(2, PWN, PWN2, wrong="def f(x: int) -> int: return 0", honest="def f(x: int) -> int: return x * x")
def test_hints_by_signature(candidate):
    expected = [0, 1, 4]
    assert list(inspect.signature(candidate, eval_str=True).parameters) == ["x"]
    assert [candidate(x) for x in range(3)] == expected


@attack(2, '''
class f:
    def area(self): return 0
f.area.__annotations__ = {"return": "__import__('pathlib').Path('/HARM/pwned3').write_text('x') and int"}
''', honest="class f:\n    def area(self) -> int: return 4")
def test_hints_of_a_method(candidate):
    typing.get_type_hints(candidate().area)
    typing.get_type_hints(candidate.module.f.area)
    assert candidate().area() == 4


@attack(2, '''
from typing import ForwardRef, List, Optional
def f(x): return 0
f.__annotations__ = {"return": Optional["__import__('pathlib').Path('/HARM/pwned4').write_text('x') and int"]}
''', honest="from typing import Optional\ndef f(x) -> Optional[int]: return x*x")
def test_hints_with_a_reference(candidate):
    try: typing.get_type_hints(candidate)
    except TypeError: pass
    assert candidate(3) == 9


@attack(2, '''
class f:
    x: "__import__('pathlib').Path('/HARM/pwned5').write_text('x') and int"
    def area(self): return 0
class f2(f): y: int
f.g = f2
''', honest="class f:\n    x: int = 0\n    def area(self) -> int: return 4\nf.g = f")
def test_hints_of_a_class(candidate):
    assert typing.get_type_hints(candidate.module.f) == {"x": int}
    assert inspect.get_annotations(candidate.module.f.g, eval_str=True)
    assert candidate().area() == 4


@attack(2, '''
class M(type):
    n = 0
    @property
    def __annotations__(cls):
        M.n += 1
        if M.n > 1: return {"x": "__import__('pathlib').Path('/HARM/pwned6').write_text('x') and int"}
        raise KeyboardInterrupt
class f(metaclass=M):
    def area(self): return 0
''', honest="class f:\n    x: int = 0\n    def area(self) -> int: return 4")
def test_hints_of_a_metaclass(candidate):
    assert typing.get_type_hints(candidate.module.f) == {"x": int}
    assert candidate().area() == 4


@attack(6, '''
class M(type):
    @property
    def __annotations__(cls):
        M.use(0)
        return {}
class Cls(metaclass=M): pass
def f(use):
    M.use = use
    return 9
f.Cls = Cls
''', honest="class Cls: pass\ndef f(use): return use(9)\nf.Cls = Cls")
def test_hints_that_fail_an_assertion(candidate):
    seen = []

    def use(value):
        seen.append(value)
        assert value == 9
        return value

    assert candidate(use) == 9
    assert isinstance(candidate.Cls, type)
    assert len(seen) == 1
