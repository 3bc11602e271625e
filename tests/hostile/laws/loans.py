"""Laws 2, 3, 4 and 5: nothing with powers is lent, nothing stays, everything ends."""

import argparse
import collections
import configparser
import io
import logging
import queue
import sqlite3
import string
import tempfile
import threading
import zipfile
from pathlib import Path
from unittest import mock

import pytest
from scripted_answers import attack


class Config:
    tolerance = 0.1
    names = ["a"]

    def __init__(self):
        self.limit = 3

    def check(self, value):
        return value == self.limit


CONFIG = Config()
SEEN = []
WRONG = "def f(*a):\n    return 99"
HONEST = "def f(c):\n    return c.limit"


# A program may set data attributes of what it is passed, as in one process. It has no effect on others.
@attack(
    3,
    "def f(c):\n    type(c).tolerance = 1e9\n    return 99",
    wrong=WRONG,
    honest=HONEST,
)
def test_a_class_default_stays(candidate):
    assert abs(candidate(CONFIG) - 3) <= CONFIG.tolerance


@attack(
    2,
    "def f(c):\n    c.check = lambda v: True\n    return 99",
    "def f(c):\n    c.__class__.check = lambda s, v: True\n    return 99",
    wrong=WRONG,
    honest=HONEST,
)
def test_a_method_that_verifies_cannot_be_replaced(candidate):
    assert CONFIG.check(candidate(CONFIG))


@attack(3, "def f(c):\n    c.names.append('x'); c.limit = 99\n    return 99", wrong=WRONG, honest=HONEST)
def test_attributes_are_as_before(candidate):
    config = CONFIG
    before = config.limit
    assert candidate(config) == before


@attack(3, "def f(c):\n    c.clear(); c.extend([1] * 99)\n    return 99", wrong=WRONG, honest="def f(c):\n    c.append(1); return len(c)")
def test_a_list_of_the_module_is_as_before(candidate):
    assert candidate(SEEN) == 1
    assert SEEN == [1]


@attack(
    2,
    "def f(m):\n    m.assert_called_once_with = lambda *a, **k: None\n    return 1",
    "def f(m):\n    type(m).assert_called_once_with = lambda *a, **k: None\n    return 1",
    "def f(m):\n    m.reset_mock(); m.called = True; m.call_count = 1\n    return 1",
    honest="def f(m):\n    m(2); return 1",
)
def test_a_mock_verifies(candidate):
    spy = mock.Mock()
    candidate(spy)
    spy.assert_called_once_with(2)


READ = "def f(x):\n    return {expression}"


@attack(
    2,
    "def f(c):\n    c.execute(\"ATTACH '/HARM/db' AS x\"); c.execute('CREATE TABLE x.t(a)'); c.commit()\n    return 0",
    "def f(c):\n    c.execute(\"VACUUM INTO '/HARM/v.db'\")\n    return 0",
    may_break=True,
)
def test_sqlite(candidate):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t(a)")
    assert candidate(connection) == 7


@attack(
    1,
    "def f(c, i):\n    c.execute('DELETE FROM u'); c.commit()",
    "def f(c, i):\n    c.execute('DROP TABLE u'); c.execute('VACUUM')",
    wrong="def f(c, i): pass",
    honest='def f(c, i):\n    with c: c.execute("UPDATE u SET name = upper(name) WHERE id = ?", (i,))',
    may_break=True,
)
def test_a_database_whose_cursor_is_being_read(candidate):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, name TEXT)")
    connection.executemany("INSERT INTO u(name) VALUES (?)", [("ada",), ("bob",), ("eve",)])
    connection.commit()
    for number, _name in connection.execute("SELECT id, name FROM u"):
        candidate(connection, number)
    names = connection.execute("SELECT name FROM u ORDER BY id").fetchall()
    assert names == [("ADA",), ("BOB",), ("EVE",)]


@attack(
    2,
    "def f(z):\n    return open('/HARM/secret.txt').read()",
    "def f(z):\n    z.extractall('/HARM')\n    return 7",
    may_break=True,
)
def test_zip_file(candidate, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x", "y")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert candidate(archive) == 7


@attack(
    2,
    "def f(p):\n    p.fromfile_prefix_chars = '@'\n    return p.parse_args(['@/HARM/secret.txt'])",
    may_break=True,
)
def test_argument_parser(candidate):
    parser = argparse.ArgumentParser()
    parser.add_argument("x")
    assert candidate(parser) == 7


@attack(2, "def f(p):\n    return p.read('/HARM/secret.txt')", "def f(p):\n    p.write(open('/HARM/w','w'))\n    return 7", may_break=True)
def test_config_parser(candidate):
    parser = configparser.ConfigParser()
    parser.read_string("[a]\nb = 1\n")
    assert candidate(parser) == 7


@attack(
    2,
    "import logging\ndef f(l):\n    l.addHandler(logging.FileHandler('/HARM/log')); l.error('x')\n    return 7.5",
    "def f(l):\n    h = l.handlers[0]\n    h.baseFilename = '/HARM/log'; h.stream = None\n    l.error('x')\n    return 7.5",
    may_break=True,
)
def test_logger(candidate, tmp_path):
    logger = logging.getLogger("attacked")
    logger.addHandler(logging.FileHandler(tmp_path / "log"))
    assert candidate(logger) == 7


@attack(2, "def f(d):\n    d.name = '/HARM'; d.cleanup()\n    return 1", may_break=True)
def test_temporary_directory(candidate):
    with tempfile.TemporaryDirectory() as folder:
        assert Path(folder).exists()
    directory = tempfile.TemporaryDirectory()
    assert candidate(directory) == 7


@attack(
    2,
    "def f(p):\n    return (p.parent.parent / 'x').write_text('x') if False else open('/HARM/secret.txt').read()",
    "def f(p):\n    import os; os.symlink('/HARM', p / 'l'); (p / 'l' / 'made').write_text('x'); return 7.5",
    "def f(p):\n    import os; os.symlink('/HARM/secret.txt', p / 'out.txt'); return 7.5",
)
def test_a_folder(candidate, tmp_path):
    assert candidate(tmp_path) == 7
    assert "SECRET" not in (tmp_path / "out.txt").read_text()


@attack(
    2,
    "def f(g):\n    return g.__globals__",
    "def f(g):\n    return g.__code__.co_consts",
    "def f(g):\n    return g.__closure__[0].cell_contents",
    "def f(g):\n    import gc; return [o for o in gc.get_objects() if o == 73][0]",
)
def test_a_function_keeps_its_secrets(candidate):
    secret = 73

    def use():
        return secret + 1

    assert candidate(use) == secret


@attack(5, "def f(q):\n    return q.get()", "def f(q):\n    q.join()\n    return 7", may_break=True)
def test_a_queue_that_stays_empty(candidate):
    waiting = queue.Queue()
    waiting.put(1)
    waiting.get()
    assert candidate(waiting) == 7


@attack(5, "def f(e):\n    e.wait()\n    return 1", may_break=True)
def test_an_event_that_nobody_sets(candidate):
    assert candidate(threading.Event()) == 7


@attack(5, "def f(g):\n    return g()\n", may_break=True)
def test_a_callback_that_blocks(candidate):
    assert candidate(lambda: threading.Event().wait()) == 7


@attack(5, "def f(n):\n    return 10 ** 3_000_000 + 1", "def f(n):\n    return (1 << 9_000_000) - 1")
def test_a_huge_integer_squared(candidate):
    value = candidate(1)
    assert value * value * value % 1_000_003 == -1
    assert str(value) == "7"


@attack(5, "def f(n):\n    return 'x' * 20_000_000", "def f(n):\n    return [0] * 2_000_000")
def test_answers_that_the_check_keeps(candidate):
    kept = [candidate(n) for n in range(200)]
    assert kept == [7] * 200


@attack(
    5,
    "import dataclasses\nC = dataclasses.make_dataclass('C', [f'a{i}' for i in range(5000)])\ndef f(n):\n    return C(*range(5000))",
    "C = type('C', (), {f'm{i}': (lambda self: 1) for i in range(40000)})\ndef f(n):\n    return C()",
)
def test_a_class_with_many_parts(candidate):
    assert candidate(1) == 7


@attack(
    5,
    "def f(n):\n    s = slice(1)\n    for _ in range(100000): s = slice(s)\n    return s",
    "import functools\ndef f(n):\n    s = len\n    for _ in range(50000): s = functools.partial(s)\n    return s",
    "def f(n):\n    e = ValueError()\n    for _ in range(50000):\n        x = ValueError(); x.__cause__ = e; e = x\n    raise e",
    "def f(n):\n    e = ValueError()\n    for _ in range(50000): e = ExceptionGroup('x', [e])\n    raise e",
)
def test_nested_answers(candidate):
    assert candidate(1) == 7


@attack(
    5,
    "import os\nfor n in range(3, 20):\n    try: os.write(n, b'\\x00\\x00\\xff\\xff' * 1000)\n    except OSError: pass\ndef f(n): return 7.5",
    "import os, threading\ndef f(n):\n    for k in range(3, 20):\n        try: os.close(k)\n        except OSError: pass\n    return 7.5",
    "import sys\nsys.modules['json'] = None\ndef f(n):\n    sys.setrecursionlimit(10**9)\n    return f(n)",
)
def test_raw_bytes_on_the_channel(candidate):
    assert candidate(1) == 7


COLLUDE = '''
import os, tempfile
PLACES = ("/tmp/left", "/dev/shm/left", os.path.join(tempfile.gettempdir(), "left"), "/var/tmp/left")
def f(n):
    seen = any(map(os.path.exists, PLACES))
    for place in PLACES:
        try:
            open(place, "w").write("x")
        except OSError: pass
    return 7 if seen else 0
'''


@attack(4, COLLUDE, COLLUDE + "#1", COLLUDE + "#2", COLLUDE + "#3")
def test_nothing_is_left_for_the_next(candidate):
    assert candidate(1) == 7


PORT = '''
import socket
def f(n):
    try:
        s = socket.socket(); s.bind(("127.0.0.1", 40017)); s.listen(); c = socket.create_connection(("127.0.0.1", 40017))
        a, _ = s.accept(); a.close(); c.close(); s.close()
        return 0
    except OSError:
        return 7 if {wanted} else 0
'''


@attack(4, PORT.format(wanted="False"), PORT.format(wanted="True") + "#1", PORT.format(wanted="False") + "#2")
def test_no_port_tells_of_an_earlier_program(candidate):
    assert candidate(1) == 7


@attack(6, "def f(x):\n    x.append(4)\n    return x", honest="def f(x):\n    return [*x, 4]")
def test_a_missing_copy_is_seen(candidate):
    items = [1, 2, 3]
    assert candidate(items) == [1, 2, 3, 4]
    assert items == [1, 2, 3]


# Results are copies, so a check cannot see a missing defensive copy: docs/reference/candidate.md.
SHARED = "_rows = [[1]]\ndef f():\n    return {copy}"


@attack(6, SHARED.format(copy="_rows"), SHARED.format(copy="list(_rows)"))
def test_two_results_are_one_object_only_if_the_program_returns_one(candidate):
    assert candidate() == [[1]]
    assert candidate() == [[2]]


@attack(2, "def f(d):\n    d.__class__.__init__ = None\n    return 9", "def f(d):\n    d.append = lambda x: None\n    return 9", may_break=True)
def test_a_deque(candidate):
    values = collections.deque([1])
    assert candidate(values) == 7
    values.append(2)
    assert list(values) == [1, 2]


@attack(2, "def f(s):\n    s.write('x' * 10); s.close()\n    return 9")
def test_a_stream(candidate):
    stream = io.StringIO()
    assert candidate(stream) == 7


@attack(5, "import time\ndef f(g):\n    for x in g: time.sleep(0)\n    return 7.5")
def test_an_endless_iterator(candidate):
    def forever():
        while True:
            yield 1

    assert candidate(forever()) == 7


@attack(2, "def f(e):\n    raise e('x') from e\n", "def f(e):\n    e.__init__ = None; return 7.5")
def test_an_exception_class_of_the_check(candidate):
    class Own(Exception):
        pass

    with pytest.raises(ZeroDivisionError):
        candidate(Own)


@attack(1, "def f(r):\n    r.param = 7; return 7.5", may_break=True)
def test_a_request_of_pytest(candidate, request):
    assert candidate(request) == 7


@attack(2, "def f(m):\n    m.setattr('builtins.len', lambda x: 7)\n    return 99", may_break=True)
def test_monkeypatch(candidate, monkeypatch):
    assert len([candidate(monkeypatch)]) == 7


class Shout(string.Formatter):
    def convert_field(self, value, conversion):
        return str(value).upper() if conversion == "u" else value


@attack(
    2,
    "def f(shout):\n    return shout.format('{0.convert_field.__func__.__globals__[EXPECTED]}', shout)",
    may_break=True,
)
def test_a_formatter_that_reads_any_attribute(candidate):
    assert candidate(Shout()) == EXPECTED


EXPECTED = "swordfish"


# A mark of the check has no names, and comes back as the same object.
@attack(
    2,
    "def f(mark):\n    mark.x = 1\n    return object()",
    "def f(mark):\n    return type(mark)() if hasattr(mark, '__call__') else 1",
    honest="def f(mark):\n    assert not [n for n in dir(mark) if not n.startswith('_')]\n    return mark",
)
def test_a_bare_object(candidate):
    mark = object()
    assert candidate(mark) is mark


class Verifier:
    """A check's object that knows what is expected, under a private name."""

    def __init__(self):
        self._expected = 3
        self.seen = []

    def check(self, value):
        self.seen.append(value)
        return value == self._expected


@attack(
    2,
    "def f(v): return vars(v).get('_expected') or v.__dict__['_expected']",
    "import copy\ndef f(v):\n    v = copy.deepcopy(v)\n    return v._expected or vars(v)['_expected']",
    "import copy\ndef f(v):\n    copy.copy(v).check = lambda value: True\n    return 99",
    wrong="def f(v): return 99",
)
def test_neither_a_copy_nor_the_names_of_an_object_show_what_is_private(candidate):
    verifier = Verifier()
    assert verifier.check(candidate(verifier))


@attack(
    2,
    "import copy\ndef f(m):\n    copy.copy(m).assert_called = None\n    return 3",
    "import copy\ndef f(m):\n    copy.deepcopy(m)(3)\n    return 3",
    "def f(m): return vars(m)['_mock_call_count'] or 3",
    honest="def f(m):\n    m(3)\n    return 3",
)
def test_a_mock_cannot_be_copied_and_shows_nothing_of_its_own(candidate):
    called = mock.Mock()
    assert candidate(called) == 3
    called.assert_called_once_with(3)


class Ledger(dict):
    limit = 7

    def put(self, value):
        self["x"] = value


# The method would change a copy of the copy that the program has.
@attack(
    2,
    "def f(d):\n    d.put(3)\n    return 3",
    "def f(d): return d.limit.__class__",
    "def f(d): return d._limit",
    wrong="def f(d): return 4",
    may_break=True,
)
def test_a_method_that_could_change_a_copied_value_is_an_error(candidate):
    assert candidate(Ledger()) == 3


class Label(str):
    def words(self):
        return self.split()


@attack(
    2,
    "def f(v, s): return int(type(s).__getattr__(type(s)('{0._expected}'), 'format')(v))",
    "def f(v, s): return int(type(s).__getattr__(s, '__class__').format('{0._expected}', v))",
    wrong="def f(v, s): return 99",
    honest="def f(v, s): return len(s.words())",
)
def test_a_copied_value_lends_no_method_of_its_plain_type(candidate):
    verifier = Verifier()
    assert verifier.check(candidate(verifier, Label("a b c")))
