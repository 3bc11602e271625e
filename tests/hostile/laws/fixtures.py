"""Laws 1 to 5: fixtures, functions and mocks of the check that a program misuses."""

import contextvars
import functools
import importlib
import logging
import os
import warnings
from unittest import mock

import pytest
from scripted_answers import attack


VAR = contextvars.ContextVar("VAR", default=0)
STATE = {"count": 0, "seen": []}


class Registry:
    items = {}

    def add(self, k, v):
        self.items[k] = v


@functools.lru_cache
def cached(x):
    return {"x": x}


@attack(6, '''
class A:
    def __eq__(self, o): return True
    def __hash__(self): return 0
class T(tuple):
    def __eq__(self, o): return True
    def __len__(self): return 2
def f(cb): cb(A(), k=A())
''', '''
class D(dict):
    def __eq__(self, o): return True
def f(cb): cb(*[1], **D(k=3))
''', honest="def f(cb): cb(1, k=2)")
def test_calls_of_a_mock(candidate):
    m = mock.Mock(return_value=None)
    candidate(m)
    m.assert_called_once_with(1, k=2)
    assert m.call_args_list == [mock.call(1, k=2)]


@attack(6, '''
def f(m):
    m.side_effect = None
    m.return_value = 5
    m.reset_mock()
    m.method_calls = []
''', '''
def f(m):
    m.close = 1
    m.assert_called = lambda *a: None
''', '''
def f(m):
    try: m.called = True
    except Exception: pass
    try: m.call_count = 1
    except Exception: pass
    try: m.call_args = ((1,), {})
    except Exception: pass
''', honest="def f(m): m(1)")
def test_a_mock_set_up_by_the_program(candidate):
    m = mock.Mock()
    candidate(m)
    assert m.called and m.call_count == 1
    assert m.call_args == mock.call(1)


@attack(1, '''
import logging
class M:
    def __str__(self): return "done"
    def __eq__(self, o): return True
class R(logging.LogRecord):
    def getMessage(self): return "done"
logging.setLogRecordFactory(R)
def f(x):
    log = logging.getLogger("app")
    for r in range(3):
        log.handle(logging.makeLogRecord({"name": "app", "levelno": 10, "levelname": M(), "msg": M(), "args": (M(),)}))
''', honest='''
import logging
def f(x): logging.getLogger("app").warning("done")
''')
def test_records_of_the_log(candidate, caplog):
    with caplog.at_level(logging.INFO):
        candidate(1)
    assert caplog.record_tuples == [("app", logging.WARNING, "done")]
    assert caplog.records[0].levelname == "WARNING"


@attack(1, '''
import logging
def f(x):
    log = logging.getLogger("app"); log.error("secret")
    logging.disable(50)
    logging.getLogger().handlers.clear()
    log.error("secret")
''', honest='''
def f(x): return 1
''')
def test_no_records(candidate, caplog):
    candidate(1)
    assert not caplog.records


@attack(1, '''
import sys, os
def f(x):
    print("hello\\r\\x1b[2K", end="")
    os.write(2, b"x")
''', '''
import sys
class T(str):
    def __eq__(self, o): return True
def f(x): sys.stdout.write(T("nothing"))
''', honest="def f(x): print('hello')")
def test_output(candidate, capsys):
    candidate(1)
    got = capsys.readouterr()
    assert got.out == "hello\n" and got.err == ""


@attack(2, '''
import os
def f(path):
    os.symlink("/HARM/secret.txt", path + "/out.txt")
''', '''
import os
def f(path):
    os.mkfifo(path + "/out.txt")
''', '''
import os
def f(path):
    os.mkdir(path + "/out.txt")
    os.chmod(path, 0)
''', honest="def f(path): open(path + '/out.txt', 'w').write('4')")
def test_strange_files(candidate, tmp_path):
    candidate(str(tmp_path))
    assert (tmp_path / "out.txt").read_text() == "4"


@attack(2, '''
import os
def f(path):
    os.makedirs(path + "/../../escape", exist_ok=True)
    open(path + "/../../escape/x", "w").write("x")
    open(path + "/a\\nb", "w").write("x")
    open(path + "/..\\x00" if False else path + "/%s" % ("a" * 200), "w").write("x")
''', honest="def f(path): open(path + '/out.txt', 'w').write('4')")
def test_files_outside(candidate, tmp_path):
    candidate(str(tmp_path))
    assert not (tmp_path.parent.parent / "escape").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.txt"]


@attack(1, '''
import os
def f():
    os.environ["MODE"] = "prod"
    os.environ.clear()
''', honest="import os\ndef f(): return os.environ['MODE']")
def test_an_environment(candidate, monkeypatch):
    monkeypatch.setenv("MODE", "test")
    assert candidate() == "test"
    assert os.environ["MODE"] == "test"


@attack(1, '''
import time
def f():
    time.time = lambda: 5.0
    time.sleep(0)
    return 0
''', honest="import time\ndef f(): return time.time()")
def test_a_patched_clock(candidate, monkeypatch):
    calls = []
    monkeypatch.setattr("time.time", lambda: calls.append(1) or 7.0)
    assert candidate() == 7.0 and calls


@attack(1, '''
def f(get):
    import contextvars
    return 0
''', honest="def f(get): return get()")
def test_a_context_variable(candidate):
    VAR.set(5)
    ctx = contextvars.copy_context()
    assert ctx.run(candidate, VAR.get if False else (lambda: VAR.get())) == 5


@attack(5, '''
def f(load):
    load("nonexistent_module_xyz")
''', '''
def f(load):
    load(123)
''', honest="def f(load): return 4")
def test_a_loader_is_lent(candidate):
    def load(name):
        return importlib.import_module(name)
    assert candidate(load) == 4


@attack(5, '''
def f(get): return get("undefined")
''', honest="def f(get): return get('n')")
def test_a_getter_is_lent(candidate):
    things = {"n": 4}
    def get(name):
        if name == "undefined":
            return undefined_name
        return things[name]
    assert candidate(get) == 4


@attack(5, '''
def f(p):
    class E(NameError): pass
    raise E("name 'x' is not defined")
''', '''
def f(p): raise ImportError("no")
''', '''
def f(p): raise PermissionError(13, "Permission denied", "/etc/shadow")
''', honest="def f(p): return 4")
def test_errors_that_look_like_the_checks(candidate):
    assert candidate(1) == 4


@attack(5, '''
class E:
    def __len__(self): raise NameError("n")
    def __iter__(self): raise ImportError("m")
    def __eq__(self, o): raise NameError("n")
    def __str__(self): raise NameError("n")
    __repr__ = __str__
def f(p): return E()
''', '''
def f(p): return "/root/.ssh/id_rsa"
''', '''
def f(p): return "\\ud800"
''', honest="def f(p): return 'a.txt'")
def test_a_name_to_write_to(candidate, tmp_path):
    name = candidate(1)
    (tmp_path / name).write_text("x")
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@attack(5, '''
def f(p): return "\\ud800\\x00\\x1b[31m]]>&#0;\\u202e::error::x" * 100
''', '''
def f(p): raise ValueError("\\ud800\\x00]]>", b"\\xff", float("nan"), {1: {2: 3}})
''', '''
def f(p):
    e = Exception("\\n::error::x\\r\\nFAILED x.py"); e.add_note("\\ud800" * 1000); raise e
''', honest="def f(p): return 'a.txt'")
def test_texts_for_reports(candidate):
    assert candidate(1) == "a.txt"


@attack(3, '''
def f(state):
    state["count"] = -100
    state["seen"].append("x")
    return 0
''', honest='''
def f(state):
    state["count"] += 1
    return state["count"]
''', wrong="def f(state): return 0")
def test_module_state_lent(candidate):
    assert candidate(STATE) == 1
    assert STATE == {"count": 1, "seen": []}


@attack(3, '''
def f(r):
    r.items["a"] = 1
    r.add("zz", 1)
    type(r).items["zz"] = 3
    return 0
''', honest='''
def f(r):
    r.add("a", 1)
    return len(r.items)
''')
def test_class_state_lent(candidate):
    r = Registry()
    assert candidate(r) == 1
    assert Registry.items == {"a": 1}


@attack(3, '''
def f(c):
    d = c(1); d["x"] = 99
    c(1)["y"] = 5
    return 0
''', honest='''
def f(c): return c(1)["x"]
''')
def test_a_cached_result_lent(candidate):
    assert candidate(cached) == 1
    assert cached(1) == {"x": 1}


@attack(1, '''
def f(x): return 0
f.__name__ = "expected"
f.expected = lambda x: 0
f.__dict__["__call__"] = lambda *a: 4
f.__dict__["pytestmark"] = 5
''', honest="def f(x): return x * x")
def test_a_wrapper_of_the_check(candidate):
    @functools.wraps(candidate)
    def traced(*args):
        traced.calls += 1
        return candidate(*args)
    traced.calls = 0
    traced.expected = lambda x: x * x
    assert traced(2) == traced.expected(2) and traced.calls == 1


@attack(1, '''
import warnings
class W(DeprecationWarning):
    def __str__(self): return "use g"
def f(x):
    warnings.warn("PytestUnknownMarkWarning", UserWarning)
    warnings.warn_explicit("x", SyntaxWarning, "/HARM/secret.txt", 1)
    return 0
''', honest='''
import warnings
def f(x):
    warnings.warn("use g", DeprecationWarning)
    return x
''')
def test_a_deprecation(candidate):
    with pytest.warns(DeprecationWarning, match="use g") as record:
        assert candidate(4) == 4
    assert len(record) == 1


@attack(1, '''
import warnings
def f(x):
    try: warnings.warn("x", DeprecationWarning)
    except Exception: pass
    return x
''', honest="def f(x): return x")
def test_no_deprecation(candidate):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert candidate(4) == 4


# The item is an error, whatever the program is.
@attack(
    1,
    "def f(x): raise ValueError('no')",
    "def f(x): return 'abc'",
    "import os\ndef f(x): os._exit(0)",
    may_break=True,
)
def test_soft_assertions_by_request(candidate, request):
    got = []
    for i in range(3):
        with request.getfixturevalue("subtests").test("square", i=i):
            got.append(candidate(i) - i * i)
    assert not any(got)
