"""Checks with the fixtures of pytest: files, output, log, environment, warnings."""

import tempfile
import io
import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path

import pytest
from scripted_answers import answers

COUNT_LINES = '''
def count_lines(path):
    with open(path) as file:
        return sum(1 for line in file if line.strip())
'''


@answers("count_lines", right=COUNT_LINES, wrong='''
def count_lines(path):
    with open(path) as file:
        return len(file.readlines())
''')
def test_reads_a_file(candidate, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("a\n\nb\n")
    assert candidate(path) == 2


@answers("count_lines", right=COUNT_LINES, wrong='''
def count_lines(path):
    return 3
''')
def test_reads_a_file_by_name(candidate, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("a\n\nb\n")
    assert candidate(str(path)) == 2
    with pytest.raises(FileNotFoundError):
        candidate(str(tmp_path / "missing.txt"))


@answers("save", right='''
import json
def save(path, config):
    with open(path, "w") as file:
        json.dump(config, file, indent=2, sort_keys=True)
''', wrong='''
def save(path, config):
    with open(path, "w") as file:
        file.write(str(config))
''')
def test_writes_a_file(candidate, tmp_path):
    target = tmp_path / "config.json"
    candidate(target, {"b": 1, "a": [1, 2]})
    assert json.loads(target.read_text()) == {"a": [1, 2], "b": 1}
    assert target.read_text().index('"a"') < target.read_text().index('"b"')


@answers("rename_all", right='''
from pathlib import Path
def rename_all(folder, old, new):
    done = []
    for path in sorted(Path(folder).iterdir()):
        if path.suffix == old:
            path.rename(path.with_suffix(new))
            done.append(path.name)
    return done
''', wrong='''
from pathlib import Path
def rename_all(folder, old, new):
    return [p.name for p in sorted(Path(folder).iterdir()) if p.suffix == old]
''')
def test_renames_files(candidate, tmp_path):
    for name in ("a.txt", "b.txt", "c.md"):
        (tmp_path / name).touch()
    assert candidate(tmp_path, ".txt", ".rst") == ["a.txt", "b.txt"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.rst", "b.rst", "c.md"]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "main.py").write_text("print(1)\n")
    (tmp_path / "src" / "deep" / "util.py").write_text("x = 1\ny = 2\n")
    (tmp_path / "README.md").write_text("# hi\n")
    return tmp_path


@answers("lines_of_code", right='''
from pathlib import Path
def lines_of_code(root):
    return {p.relative_to(root).as_posix(): len(p.read_text().splitlines())
            for p in Path(root).rglob("*.py")}
''', wrong='''
from pathlib import Path
def lines_of_code(root):
    return {p.name: len(p.read_text().splitlines()) for p in Path(root).glob("*.py")}
''')
def test_walks_a_tree(candidate, project):
    assert candidate(project) == {"src/main.py": 1, "src/deep/util.py": 2}


@answers("append_log", right='''
def append_log(path, message):
    with open(path, "a") as file:
        file.write(message + "\\n")
''', wrong='''
def append_log(path, message):
    with open(path, "w") as file:
        file.write(message + "\\n")
''')
def test_appends(candidate, tmp_path):
    log = tmp_path / "app.log"
    log.write_text("old\n")
    candidate(log, "one")
    candidate(log, "two")
    assert log.read_text().splitlines() == ["old", "one", "two"]


@answers("binary_copy", right='''
import shutil
def binary_copy(source, target):
    shutil.copyfile(source, target)
''', wrong='''
def binary_copy(source, target):
    open(target, "w").write(open(source, errors="replace").read())
''')
def test_copies_bytes(candidate, tmp_path):
    data = bytes(range(256)) * 4
    (tmp_path / "in.bin").write_bytes(data)
    candidate(tmp_path / "in.bin", tmp_path / "out.bin")
    assert (tmp_path / "out.bin").read_bytes() == data


@answers("clean", right='''
import os
def clean(folder):
    for name in os.listdir(folder):
        if name.endswith(".tmp"):
            os.remove(os.path.join(folder, name))
''', wrong='''
def clean(folder):
    pass
''')
def test_deletes_files(candidate, tmp_path):
    (tmp_path / "keep.txt").touch()
    (tmp_path / "drop.tmp").touch()
    candidate(str(tmp_path))
    assert os.listdir(tmp_path) == ["keep.txt"]


@pytest.fixture(scope="module")
def data_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "values.csv"
    path.write_text("name,score\nann,3\nbob,5\n")
    return path


@answers("best", right='''
import csv
def best(path):
    with open(path, newline="") as file:
        return max(csv.DictReader(file), key=lambda row: int(row["score"]))["name"]
''', wrong='''
import csv
def best(path):
    with open(path, newline="") as file:
        return min(csv.DictReader(file), key=lambda row: int(row["score"]))["name"]
''')
def test_reads_a_file_of_a_module_fixture(candidate, data_file):
    assert candidate(data_file) == "bob"


@answers("greet", right='''
def greet(name):
    print(f"Hello, {name}!")
''', wrong='''
def greet(name):
    print(f"Hello {name}")
''')
def test_prints(candidate, capsys):
    candidate("Ada")
    assert capsys.readouterr().out == "Hello, Ada!\n"


@answers("countdown", right='''
import sys
def countdown(n):
    for i in range(n, 0, -1):
        print(i)
    print("done", file=sys.stderr)
''', wrong='''
def countdown(n):
    for i in range(n, 0, -1):
        print(i)
    print("done")
''')
def test_prints_to_both_streams(candidate, capsys):
    candidate(3)
    out, err = capsys.readouterr()
    assert out.split() == ["3", "2", "1"]
    assert err.strip() == "done"
    candidate(1)
    assert capsys.readouterr().out == "1\n"


@answers("table", right='''
def table(rows):
    for name, n in rows:
        print(f"{name:<6}{n:>4}")
''', wrong='''
def table(rows):
    for name, n in rows:
        print(name, n)
''')
def test_table_layout(candidate, capfd):
    candidate([("ann", 5), ("bob", 12)])
    assert capfd.readouterr().out.splitlines() == ["ann      5", "bob     12"]


@answers("shout", right='''
import os
def shout(text):
    os.write(1, text.upper().encode())
''', wrong='''
import os
def shout(text):
    os.write(1, text.encode())
''')
def test_writes_to_the_descriptor(candidate, capfd):
    candidate("hey")
    assert "HEY" in capfd.readouterr().out


@answers("quiet", right='''
def quiet(x):
    return x + 1
''', wrong='''
def quiet(x):
    print("debug", x)
    return x + 1
''')
def test_prints_nothing(candidate, capsys):
    assert candidate(1) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == ""


@answers("report", right='''
def report(items):
    for i, item in enumerate(items, 1):
        print(f"{i}. {item}")
''', wrong='''
def report(items):
    for i, item in enumerate(items):
        print(f"{i}. {item}")
''', jail_only=True)
def test_output_of_candidate(candidate):
    candidate(["x", "y"])
    assert candidate.output.splitlines() == ["1. x", "2. y"]


@answers("load", right='''
import logging
log = logging.getLogger("loader")
def load(items):
    for item in items:
        if item < 0:
            log.warning("skipped %s", item)
    return [i for i in items if i >= 0]
''', wrong='''
def load(items):
    return [i for i in items if i >= 0]
''')
def test_logs_a_warning(candidate, caplog):
    assert candidate([1, -2, 3]) == [1, 3]
    assert "skipped -2" in caplog.text
    assert [r.levelname for r in caplog.records] == ["WARNING"]


@answers("work", right='''
import logging
log = logging.getLogger(__name__)
def work(n):
    log.debug("working on %d", n)
    log.info("done")
    return n
''', wrong='''
import logging
log = logging.getLogger(__name__)
def work(n):
    log.info("working on %d", n)
    return n
''')
def test_levels_of_the_log(candidate, caplog):
    with caplog.at_level(logging.DEBUG):
        candidate(5)
    levels = [(r.levelno, r.getMessage()) for r in caplog.records]
    assert levels == [(logging.DEBUG, "working on 5"), (logging.INFO, "done")]
    caplog.clear()
    assert caplog.messages == []


@answers("attempt", right='''
import logging
def attempt(f):
    try:
        return f()
    except Exception:
        logging.getLogger("attempt").exception("failed")
        return None
''', wrong='''
def attempt(f):
    try:
        return f()
    except Exception:
        return None
''')
def test_logs_the_exception(candidate, caplog):
    def bad():
        raise RuntimeError("boom")

    assert candidate(bad) is None
    assert "failed" in caplog.text
    assert caplog.records[0].levelname == "ERROR"


@answers("home_of", right='''
import os
def home_of(app):
    return os.path.join(os.environ.get("APP_HOME", "/opt"), app)
''', wrong='''
def home_of(app):
    return "/opt/" + app
''')
def test_reads_the_environment(candidate, monkeypatch):
    monkeypatch.setenv("APP_HOME", "/srv")
    assert candidate("web") == "/srv/web"
    monkeypatch.delenv("APP_HOME")
    assert candidate("web") == "/opt/web"


@answers("debug_on", right='''
import os
def debug_on():
    return os.getenv("DEBUG", "").lower() in ("1", "true", "yes")
''', wrong='''
import os
def debug_on():
    return bool(os.getenv("DEBUG"))
''')
@pytest.mark.parametrize(("value", "on"), [("1", True), ("TRUE", True), ("0", False), ("", False)])
def test_flag_of_the_environment(candidate, monkeypatch, value, on):
    monkeypatch.setenv("DEBUG", value)
    assert candidate() is on


@answers("ask", right='''
def ask():
    while True:
        answer = input("Continue? ").strip().lower()
        if answer in ("y", "n"):
            return answer == "y"
''', wrong='''
def ask():
    return input("Continue? ") == "y"
''')
def test_input_is_patched(candidate, monkeypatch):
    replies = iter(["maybe", " Y "])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(replies))
    assert candidate() is True


@answers("total", right='''
import sys
def total():
    return sum(int(line) for line in sys.stdin if line.strip())
''', wrong='''
import sys
def total():
    return int(sys.stdin.readline())
''')
def test_stdin_is_patched(candidate, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n2\n\n39\n"))
    assert candidate() == 42


@answers("read_name", right='''
def read_name():
    return input().strip().title()
''', wrong='''
def read_name():
    return input()
''')
def test_stdin_object_is_patched(candidate, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("  ada lovelace \n"))
    assert candidate() == "Ada Lovelace"


@answers("find_config", right='''
from pathlib import Path
def find_config():
    path = Path("settings.ini")
    return path.read_text().strip() if path.exists() else None
''', wrong='''
def find_config():
    return None
''')
def test_working_directory(candidate, monkeypatch, tmp_path):
    (tmp_path / "settings.ini").write_text("colour=red\n")
    monkeypatch.chdir(tmp_path)
    assert candidate() == "colour=red"


@answers("write_here", right='''
def write_here(name, text):
    with open(name, "w") as file:
        file.write(text)
    return len(text)
''', wrong='''
def write_here(name, text):
    return len(text)
''')
def test_writes_to_the_working_directory(candidate, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert candidate("out.txt", "abc") == 3
    assert Path("out.txt").read_text() == "abc"


@answers("stamp", right='''
import time
def stamp(message):
    return f"{time.time():.0f} {message}"
''', wrong='''
def stamp(message):
    return f"0 {message}"
''')
def test_time_is_patched(candidate, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1234.0)
    assert candidate("x") == "1234 x"


@answers("stamp", right='''
import time
def stamp(message):
    return f"{time.time():.0f} {message}"
''', wrong='''
def stamp(message):
    return f"0 {message}"
''')
def test_clock_of_the_module_is_replaced(candidate):
    candidate.module.time.time = lambda: 1234.0
    assert candidate("x") == "1234 x"


@answers("old_api", right='''
import warnings
def old_api(x):
    warnings.warn("old_api is deprecated", DeprecationWarning, stacklevel=2)
    return x
''', wrong='''
def old_api(x):
    return x
''')
def test_warns(candidate):
    with pytest.warns(DeprecationWarning, match="deprecated"):
        assert candidate(3) == 3


@answers("check_age", right='''
import warnings
def check_age(age):
    if age < 0:
        raise ValueError("negative")
    if age > 120:
        warnings.warn("unlikely age", UserWarning)
    return age
''', wrong='''
import warnings
def check_age(age):
    warnings.warn("unlikely age", UserWarning)
    return age
''')
def test_warns_only_when_it_should(candidate, recwarn):
    assert candidate(30) == 30
    assert len(recwarn) == 0
    candidate(130)
    assert len(recwarn) == 1
    assert str(recwarn[0].message) == "unlikely age"


@answers("old_api", right='''
import warnings
def old_api():
    warnings.warn("gone soon", FutureWarning)
    return "ok"
''', wrong='''
def old_api():
    return "ok"
''')
def test_warnings_are_recorded(candidate):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert candidate() == "ok"
    assert [w.category for w in caught] == [FutureWarning]


@answers("solve", right='''
import sys
def solve(line):
    a, b = map(int, line.split())
    return a * b
if __name__ == "__main__":
    for line in sys.stdin:
        print(solve(line))
''', wrong='''
import sys
def solve(line):
    a, b = map(int, line.split())
    return a * b
if __name__ == "__main__":
    print(solve(input()))
''')
def test_script_with_standard_input(candidate):
    done = candidate.run(stdin="2 3\n4 5\n")
    assert done.returncode == 0
    assert done.stdout == "6\n20\n"


@answers("main", right='''
import sys
def main(args):
    if not args:
        print("usage: add NUMBER...", file=sys.stderr)
        return 2
    print(sum(map(int, args)))
    return 0
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
''', wrong='''
import sys
def main(args):
    print(sum(map(int, args)))
    return 0
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
''')
def test_command_line(candidate):
    assert candidate.run(args=["1", "2"]).stdout.strip() == "3"
    wrong_use = candidate.run()
    assert wrong_use.returncode == 2
    assert "usage" in wrong_use.stderr


@answers(
    "copy_upper",
    right="import os\ndef copy_upper(source, folder):\n"
    "    with open(source) as file: text = file.read()\n"
    "    path = os.path.join(folder, 'copy.txt')\n"
    "    with open(path, 'w') as file: file.write(text.upper())\n    return path",
    wrong="def copy_upper(source, folder): return folder + '/copy.txt'",
)
def test_files_of_tempfile(candidate):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as source:
        source.write("Ada\n")
        source.flush()
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                path = candidate(source.name, folder)
                assert Path(path).read_text() == "ADA\n"
                assert os.listdir(folder) == ["copy.txt"]


@answers(
    "clear",
    right="import shutil\ndef clear(folder): shutil.rmtree(folder); return True",
    wrong="def clear(folder): return True",
)
def test_a_folder_that_the_program_removes(candidate):
    folder = tempfile.mkdtemp()
    Path(folder, "a.txt").write_text("a")
    assert candidate(folder) is True
    assert not Path(folder, "a.txt").exists()
    assert candidate(tempfile.mkdtemp()) is True


@answers(
    "lock",
    right="import os\ndef lock(path): os.chmod(path, 0)",
    wrong="def lock(path): pass",
)
def test_a_file_that_nobody_may_read(candidate, tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text("x")
    candidate(path)
    assert path.stat().st_mode & 0o777 == 0
    candidate(path)
