"""Laws 1, 2, 5 and 6: messages on the channel that the program's side never sends."""

import pytest
from scripted_answers import attack

# The program finds the channel in the frames below its own, and encodes messages by hand.
BY_HAND = """
import os, sys
def guest():
    frame = sys._getframe()
    while not (hasattr(frame.f_locals.get("self"), "channel") and hasattr(frame.f_locals["self"], "objects")):
        frame = frame.f_back
    return frame.f_locals["self"]
NAMES = type(guest()).reply.__globals__
W = NAMES["wire"]
def built(operation, *parts):
    return W.Built(operation, parts)
def put(*parts):
    NAMES["send"](guest().channel, NAMES["encode"](parts, guest().objects.send_value))
def change(number, content, changes):
    put("update", number)
    put(content, changes)
def error(module, name, attributes):
    named = built(W.NAMED, module, name)
    return built(W.EXCEPTION, named, -1, (), "", attributes, None, None, False)
FILE = (b"x", 0o777, 0)
def f(x):
    {}
"""
SQUARE = "def f(x): return x * x"
FILE = "def f(p): (p / 'ok').write_text(''); return 9"


def frames(*bodies):
    return [BY_HAND.replace("{}", body, 1) for body in bodies]


@attack(
    1,
    *frames(
        'put("result", 9, None); put("result", 9, None)\n    return 0',
        'return built(W.CLASS, 5, "a\\0b", "q", "m", None, "", "", "", None, ())',
        'put("raise", error("builtins", "GeneratorExit", dict()), "t", None)',
    ),
    honest=SQUARE,
)
def test_answers_ahead_of_the_question(candidate):
    assert candidate(3) == 9
    assert candidate(4) == 16


@attack(
    1,
    *frames(
        'put("raise", error("unittest.case", "SkipTest", dict()), "t", None)',
        'put("raise", error("builtins", "ValueError", {"__class__": 1, "failure": None, "args": 5}), "t", None)',
        'put("raise", error("builtins", "ValueError", {"with_traceback": 1, "add_note": 3, "__notes__": 5}), "t", None)',
    ),
    honest=SQUARE,
)
def test_exceptions_by_hand(candidate):
    assert candidate(3) == 9


@attack(
    2,
    *frames(
        'put("effects", {"folders": {"/HARM": {"made": FILE}}})\n    return 9',
        'put("effects", {"folders": {str(x): {"../made": FILE, "a/../../made": FILE}}})\n    return 9',
        'put("effects", {"folders": {str(x): {"/HARM/made": FILE}}})\n    return 9',
    ),
    honest=FILE,
)
def test_files_by_hand(candidate, tmp_path):
    assert candidate(tmp_path) == 9
    assert [path.name for path in tmp_path.iterdir()] == ["ok"]


@attack(
    5,
    *frames(
        'put("effects", {"folders": {str(x): {"": FILE, ".": None, "x\\0y": FILE}}})\n    return 9',
        'put("effects", {"folders": {str(x): {"d" + "/d" * 5000: FILE}}})\n    return 9',
        'put("effects", {"folders": {str(x): {"a": built(W.ARRAY, "<i8", (1,), bytes(8))}}})\n    return 9',
    ),
    honest=FILE,
)
def test_names_of_files_by_hand(candidate, tmp_path):
    assert candidate(tmp_path) == 9
    assert [path.name for path in tmp_path.iterdir()] == ["ok"]


@attack(
    5,
    *frames(
        'put("effects", {"records": [("a" + ".b" * 1000000, 10**15, "p", 10**30, "m", "f", "")]})\n    return 9',
        'put("effects", {"warnings": [(built(W.NAMED, "builtins", "UserWarning"), "x", 10**30)] * 1000})\n    return 9',
        'put("effects", {"warnings": [(built(W.NAMED, "builtins", "KeyboardInterrupt"), "x", 1)]})\n    return 9',
    ),
    honest=SQUARE,
)
def test_log_and_warnings_by_hand(candidate, caplog, recwarn):
    assert candidate(3) == 9
    assert not caplog.records and not recwarn.list


@attack(
    5,
    *frames(
        'value = None\n    for _ in range(500): value = built(W.STANDARD, "builtins.slice", value, None, None)\n    return value',
        'return [built(W.STANDARD, "re.Pattern", "(" * 40 + "a" + "*)" * 40, 0)] * 50',
        'return built(W.STANDARD, "re.Pattern", "(a|b|ab)*" * 2000, 0)',
    ),
    *frames("return [built(W.SHARED, i, [i], False) for i in range(100000)]"),
)
def test_values_by_hand(candidate):
    assert candidate(3) == 9


@attack(
    1,
    *frames(
        'return built(W.STANDARD, "io.StringIO", "x", 0)',
        "return built(W.PROXY, 10**9)",
        "return [built(W.SAME, -1), built(W.SAME, 10**6), built(W.SAME, -10**30)]",
    ),
    honest=SQUARE,
)
def test_references_by_hand(candidate):
    assert candidate(3) == 9


@attack(
    6,
    *frames(
        'return built(W.REFERENCE, 7, built(W.CLASS, 8, "Any", "Any", "unittest.mock", None, "__eq__ __ne__", "__eq__", "", None, ()))',
        'return built(W.REFERENCE, 7, built(W.CLASS, 8, "E", "E", "m", None, "__eq__ __sub__", "__sub__ __iter__", "", None, (built(W.NAMED, "builtins", "list"),)), [1])',
        'return built(W.ARRAY, "O", (1,), b"12345678")',
    ),
    honest=SQUARE,
)
def test_classes_by_hand(candidate):
    answer = candidate(3)
    assert answer == 9
    assert not answer != 9


@attack(
    2,
    *frames(
        'put("callback", 0, "get", ("__globals__",), dict())\n    return 0',
        'put("callback", 0, "set", ("__code__", None), dict())\n    return 0',
        'put("callback", 0, "__reduce_ex__", (4,), dict())\n    return 0',
    ),
    honest="def f(call): return call(9)",
)
def test_requests_by_hand(candidate):
    assert candidate(lambda value: value) == 9


@attack(
    5,
    *frames(
        "os.write(guest().channel, (2**31).to_bytes(4, 'big'))\n    while True: os.write(guest().channel, b'x' * 65536)",
        'for i in range(200000): change(i, i, dict())\n    return 0',
    ),
    honest=SQUARE,
)
def test_a_flood_on_the_channel(candidate):
    with pytest.raises(ValueError):
        int("x")
    assert candidate(3) == 9


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    for number in range(600):
        (folder / f"old{number}").write_text("x")
    return folder


@attack(
    3,
    *frames(
        'put("effects", {"folders": {x: {f"n{i}": FILE for i in range(900)}}})\n    return 600',
        'put("effects", {"folders": {x: {"n": (b"y" * 9 * 2**20, 0o777, 0)}}})\n    return 600',
    ),
    wrong="def f(p):\n    import os\n    os.remove(p + '/old0'); os.mkdir(p + '/old0')\n    return 0",
    honest="import os\ndef f(p): return sum(os.path.isfile(f'{p}/{name}') for name in os.listdir(p))",
)
def test_a_folder_of_the_session_is_filled(candidate, kept):
    assert candidate(str(kept)) == 600


@attack(3, "def f(p): return 0", honest=("import os\ndef f(p): return len(os.listdir(p))",) * 2)
def test_a_folder_of_the_session_that_the_check_fills(candidate, kept):
    assert candidate(str(kept)) == 600
    for number in range(900):
        (kept / f"new{number}").touch()
