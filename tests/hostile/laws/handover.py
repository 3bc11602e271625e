"""Law 5: a function of the check that returns to the program hands control over as a call does."""

import random

from scripted_answers import answers, attack


@answers(
    "get",
    right="def get(url, dest, download):\n    download(url, dest)\n"
    "    with open(dest) as file: return file.read()",
    wrong="def get(url, dest, download): return ''",
)
def test_a_file_that_a_callback_writes(candidate, tmp_path):
    def download(url, dest):
        with open(dest, "w") as file:
            file.write("data of " + url)

    assert candidate("u", str(tmp_path / "x"), download) == "data of u"


@answers(
    "save",
    right="import os\ndef save(items, write, folder):\n"
    "    for item in items: write(item)\n    return len(os.listdir(folder))",
    wrong="def save(items, write, folder): return 0",
)
def test_files_that_a_callback_of_a_file_writes(candidate, tmp_path):
    assert candidate(["a", "b"], lambda name: (tmp_path / name).touch(), tmp_path) == 2


@attack(
    5,
    "def f(clock): return 7",
    honest="import os\ndef f(clock):\n    clock()\n    return os.environ.get('AT')",
)
def test_a_callback_that_sets_the_environment(candidate, monkeypatch):
    assert candidate(lambda: monkeypatch.setenv("AT", "5")) == "5"


@attack(
    5,
    "def f(clock): return 7",
    honest="import random\ndef f(clock):\n    clock()\n    return random.random()",
)
def test_a_callback_that_seeds(candidate):
    random.seed(5)
    expected = random.random()
    assert candidate(lambda: random.seed(5)) == expected


@attack(
    5,
    "def f(g): return 7",
    honest="def f(g):\n    print('one')\n    g()\n    print('two')\n    return 1",
)
def test_output_in_its_order(candidate, capsys):
    assert candidate(lambda: print("mid")) == 1
    assert capsys.readouterr().out == "one\nmid\ntwo\n"


@attack(
    5,
    "KINDS = []\ndef f(add): return 7",
    honest="KINDS = []\ndef f(add):\n    kind = add()\n    return [kind.name, KINDS[0].name]",
)
def test_an_object_that_a_callback_adds_and_returns(candidate):
    class Kind:
        name = "a"

    kinds = candidate.module.KINDS

    def add():
        kinds.append(Kind())
        return kinds[0]

    assert candidate(add) == ["a", "a"]
