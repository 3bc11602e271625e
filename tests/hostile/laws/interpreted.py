"""Laws 1, 2 and 5: what the check's libraries read from an answer, and what explains a failure."""

import json
import math
import statistics
import traceback

import pytest
from scripted_answers import attack


@attack(5, "def f(e, tb): return 0", honest="def f(e, tb): return type(e).__name__")
def test_a_traceback_is_passed(candidate):
    try:
        {}["x"]
    except KeyError as error:
        assert candidate(error, error.__traceback__) == "KeyError"


@attack(2, '''
def f(): return "{0.__class__.__init__.__globals__}"
''', '''
def f(): return "{0:>999999999}"
''', '''
def f(): return "%999999999d"
''', honest="def f(): return '{0} %d'")
def test_a_template_of_the_program(candidate):
    class User:
        def __init__(self): self.name = "Bob"
        def __str__(self): return self.name
    template = candidate()
    assert template.format(User()) % 3 == "Bob 3"


@attack(5, "def f(): return 10**9", "def f(): return 2**62", "def f(): return float('inf')", honest="def f(): return 3")
def test_a_size_of_the_program(candidate):
    n = candidate()
    assert len([0] * n) == 3 and "x".rjust(n) == "  x" and len(bytes(n)) == 3


@attack(5, "def f(): return ['((((((' * 2000]", "def f(): return ['[' * 100000]", "def f(): return ['-' * 100000 + '1', 'a' * 10**6]", honest="def f(): return ['[1]']")
def test_a_literal_of_the_program(candidate):
    import ast
    assert [ast.literal_eval(t) for t in candidate()] == [[1]]


@attack(5, "def f(): return '[' * 200000", "def f(): return '{\"a\":' * 100000", "def f(): return '1' * 10**6", "def f(): return 'NaN'", honest=())
def test_json_of_the_program(candidate):
    assert json.loads(candidate()) == [1]


@attack(5, "def f(): return '<?xml version=\"1.0\"?><!DOCTYPE l [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"' + '&a;' * 10000 + '\"><!ENTITY c \"' + '&b;' * 10000 + '\">]><l>&c;</l>'",
  "def f(): return '<!DOCTYPE l [<!ENTITY x SYSTEM \"file:///HARM/secret.txt\">]><l>&x;</l>'", "def f(): return '<a>' * 100000", honest="def f(): return '<l>ok</l>'")
def test_xml_of_the_program(candidate):
    import xml.etree.ElementTree as ET
    assert ET.fromstring(candidate()).text == "ok"


@attack(2, "def f(): return \"ATTACH DATABASE '/HARM/x.db' AS h\"", "def f(): return 'SELECT 4'",
   "def f(): return \"SELECT load_extension('/HARM/x')\"", honest="def f(): return 'SELECT 3'")
def test_sql_of_the_program(candidate):
    import sqlite3
    db = sqlite3.connect(":memory:")
    assert db.execute(candidate()).fetchall() == [(3,)]


@attack(5, '''
class A:
    def __repr__(self):
        while True: pass
    def __eq__(self, o): return False
def f(): return A()
''', '''
class A:
    def __repr__(self): return "x" * 10**8
def f(): return A()
''', '''
class A:
    def __repr__(self): raise KeyboardInterrupt
    def __len__(self): raise SystemExit
    def __iter__(self): raise GeneratorExit
def f(): return [A()] * 3
''', honest="def f(): return [1]")
def test_an_explanation(candidate):
    assert candidate() == [1]


@attack(5, '''
class D(dict):
    def __repr__(self): return "\\n" * 10**6
    def keys(self):
        while True: pass
    __iter__ = keys
    def items(self): return iter(int, 1)
def f(): return {"a": D()}
''', honest="def f(): return {'a': {}}")
def test_an_explanation_of_dicts(candidate):
    assert candidate() == {"a": {}}
    assert dict(candidate()["a"].items()) == {}


@attack(5, '''
class E(Exception):
    def __str__(self):
        while True: pass
def f(): raise E("x")
''', '''
class E(Exception):
    def __str__(self): raise self
    __repr__ = __str__
def f(): raise E(E("x"))
''', '''
class E(Exception):
    @property
    def args(self): return 5
    @property
    def __cause__(self): raise KeyError
    @property
    def __notes__(self): return 7
    __class__ = property(lambda s: 1/0)
def f(): raise E("x")
''', honest="def f(): raise ValueError('x')")
def test_a_text_of_an_error(candidate):
    with pytest.raises(ValueError, match="^x$") as info:
        candidate()
    assert info.value.args == ("x",)


@attack(1, "def f(): raise UnicodeDecodeError('utf8', b'x' * 10**6, 0, 1, 'x')", "def f(): raise SyntaxError('x', ('/HARM/secret.txt', 1, 1, None))",
  "def f(): raise OSError(1, 'x', '/HARM/secret.txt')", honest="def f(): raise KeyError('x')")
def test_errors_with_files(candidate):
    with pytest.raises(KeyError):
        candidate()


@attack(1, '''
def f():
    try: raise KeyError("x")
    except KeyError as e:
        e.__context__ = e
        raise e from e
''', '''
def f():
    es = [ValueError(i) for i in range(3)]
    g = ExceptionGroup("g", es)
    for e in es: e.__cause__ = g
    raise g
''', honest="def f(): raise LookupError('x')")
def test_circles_of_errors(candidate):
    with pytest.raises(LookupError) as info:
        candidate()
    assert type(info.value) is LookupError and "".join(traceback.format_exception(info.value))


@attack(2, '''
class P:
    def __fspath__(self): return "/HARM/secret.txt"
    def __str__(self): return "/HARM/pwned"
    def exists(self): return True
    def read_text(self): return "4"
def f(): return P()
''', "import pathlib\ndef f(): return pathlib.Path('/HARM/secret.txt')", honest="import pathlib\ndef f():\n    p = pathlib.Path('x.txt'); p.write_text('4'); return p")
def test_a_path_of_the_program(candidate):
    p = candidate()
    assert p.read_text() == "4" and p.name == "x.txt"


@attack(5, '''
import threading
def f(cb):
    ts = [threading.Thread(target=cb, args=(i,)) for i in range(30)]
    [t.start() for t in ts]; [t.join() for t in ts]
    return 0
''', '''
import threading, time
def f(cb):
    def loop():
        while True: cb(1)
    threading.Thread(target=loop, daemon=True).start()
    time.sleep(0.1)
    return 30
''', honest="def f(cb):\n    [cb(i) for i in range(30)]; return 30")
def test_callbacks_from_threads(candidate):
    seen = []
    assert candidate(seen.append) == 30
    assert seen == list(range(30))


@attack(5, "def f(cb): return cb(cb)", "def f(cb):\n    while True: cb(1)", "def f(cb): cb([cb] * 100000); return 0", honest="def f(cb): return cb(3)")
def test_a_callback_that_calls_back(candidate):
    depth = []
    def cb(x):
        depth.append(1)
        if callable(x): return candidate(x)
        return x
    assert candidate(cb) == 3


@attack(6, '''
class A:
    def __radd__(self, o): return A() if o == 0 else 5
    def __add__(self, o): return A()
    def __eq__(self, o): return True
    def __truediv__(self, o): return 0.0
    def __rsub__(self, o): return A()
def f(n): return A()
''', honest="def f(n): return n")
def test_a_mean_of_objects(candidate):
    xs = [candidate(n) for n in (1, 2, 3)]
    assert sum(xs) / len(xs) == 2
    assert math.fsum(xs) == 6 and statistics.fmean(xs) == 2


@attack(6, '''
class A:
    def __add__(self, o): return A()
    __radd__ = __mul__ = __rmul__ = __or__ = __ror__ = __and__ = __rand__ = __add__
    def __eq__(self, o): return True
    def __iter__(self): return iter(())
    def __len__(self): return 0
    def __contains__(self, x): return True
    def issubset(self, o): return True
    def __le__(self, o): return True
def f(): return A()
''', honest="def f(): return {1, 2}")
def test_sets_of_two_minds(candidate):
    got = candidate()
    assert all(x in {1, 2} for x in got) and {1, 2} <= set(got)
    assert not ({1, 2} - set(got)) and got & {1, 2} == {1, 2}
