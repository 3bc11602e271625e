"""Law 5: what processes use is measured, and what a check does with an answer ends."""

import ast
import copy
import fnmatch
import json
import pprint
import re
import zlib
from xml.etree import ElementTree

from scripted_answers import attack

# Eight processes, each within the limits of one.
MEMORY = """
import ctypes, os, time
ctypes.CDLL(None).prctl(15, {name!r}, 0, 0, 0)
def f(n):
    read, write = os.pipe()
    for _ in range(8):
        if os.fork() == 0:
            block = bytearray(100 << 20)
            for i in range(0, len(block), 4096): block[i] = 1
            os.write(write, b"x")
            time.sleep(9)
    for _ in range(8): os.read(read, 1)
    time.sleep(1)
    return n + 1
"""


@attack(
    5,
    MEMORY.format(name=b"\xff\xfe"),
    MEMORY.format(name=b") R 1 1\n("),
    honest="def f(n): return n + 1",
)
def test_memory_of_processes_with_odd_names(candidate):
    assert candidate(1) == 2


@attack(5, "import zlib\ndef f(n): return zlib.compress(bytes(1 << 28))")
def test_a_compressed_answer(candidate):
    assert zlib.decompress(zlib.decompress(zlib.compress(candidate(1)))) == b"x"


@attack(
    5,
    "def f(n): return '[' * 1000000",
    "def f(n): return '(' * 1000000",
    "def f(n): return '-' * 1000000 + '1'",
    honest="def f(n): return '[1]'",
)
def test_an_answer_that_is_parsed(candidate):
    answer = candidate(1)
    assert ast.literal_eval(answer) == json.loads(answer) == [1]


LAUGHS = "def f(n):\n    e = ''.join('<!ENTITY a%d \"%s\">' % (i, '&a%d;' % (i - 1) * 10 if i else 'ha') for i in range(12))\n    return '<!DOCTYPE x [' + e + ']><x>&a11;</x>'"


@attack(5, LAUGHS, "def f(n): return '<x>' * 200000", honest="def f(n): return '<x>a</x>'")
def test_an_answer_that_is_xml(candidate):
    assert ElementTree.fromstring(candidate(1)).text == "a"


NESTED = "def f(n):\n    x = {make}\n    for _ in range(590): x = {wrap}\n    return x"


@attack(
    5,
    NESTED.format(make="[]", wrap="[x]"),
    NESTED.format(make="()", wrap="(x,)"),
    NESTED.format(make="{}", wrap="{'a': x}"),
    NESTED.format(make="slice(1)", wrap="[slice(x)]"),
)
def test_a_nested_answer_that_is_copied_and_printed(candidate):
    answer = candidate(1)
    assert copy.deepcopy(answer) == answer
    assert pprint.pformat(answer) == repr([1])


@attack(
    5,
    "import uuid\ndef f(n): return [uuid.UUID(int=i * (2**61 - 1)) for i in range(4000)]",
    "import ipaddress\ndef f(n): return [ipaddress.IPv6Address(0)] * 10 + [ipaddress.IPv6Interface((i * (2**61 - 1), 128)) for i in range(3000)]",
)
def test_answers_with_one_hash(candidate):
    assert len(set(candidate(1))) == 7


@attack(5, "def f(n): return '(a|a)*' * 30 + 'b'", "def f(n): return '*a' * 60 + 'b'", honest="def f(n): return 'a*'")
def test_a_pattern_of_the_program(candidate):
    pattern = candidate(1)
    assert fnmatch.fnmatchcase("a" * 60, pattern)
    assert re.fullmatch(pattern, "a" * 40)


@attack(5, "def f(x):\n    while True: pass", honest="import os\ndef f(x): return len(os.listdir(x))")
def test_a_check_that_patches_what_reads_the_limits(candidate, monkeypatch):
    monkeypatch.setattr("time.monotonic", lambda: 5.0)
    monkeypatch.setattr("os.listdir", lambda path: ["a", "b"])
    monkeypatch.setattr("os.kill", lambda number, signal: None)
    monkeypatch.setattr("builtins.open", None)
    monkeypatch.setattr("socket.socket", None)
    assert candidate("/") == 2
