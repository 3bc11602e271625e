from __future__ import annotations

import ast
import textwrap
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.models._extract import Extraction, extract
from pytest_promptse.models._statements import chunks, statements

PROMPT = '''from typing import List
import math

PRECISION = 2


def disc(radius: float) -> float:
    """Area of a disc."""
    return math.pi * radius ** 2


def area(radii: List[float]) -> float:
    """ Return the total area of discs, rounded.
    >>> area([1.0])
    3.14
    """
'''
INSTRUCTION = "Write a function `area(radii: list[float]) -> float` for the total area of discs."
BARE_SIGNATURE = """```python
import math
from typing import List
PRECISION = 2
def disc(radius):
    return math.pi * radius ** 2
def area(radii: List[float]) -> float:
```"""
BODY = """    total = 0.0
    for radius in radii:
        total += disc(radius)
    return round(total, PRECISION)
"""
SIGNATURE = "def area(radii: List[float]) -> float:\n"
DEFINITION = SIGNATURE + BODY
WHOLE = f"{PROMPT}{BODY}"
ALONE = """import math


def area(radii):
    return round(sum(math.pi * radius ** 2 for radius in radii), 2)
"""
WRONG = ALONE.replace("2)\n", "2) + 1\n")


def fence(code, language="python"):
    return f"```{language}\n{code.rstrip()}\n```"


def found(text, *, prompt=PROMPT, form="chat", finish_reason="stop", entry_point="area"):
    return extract(
        text, prompt=prompt, entry_point=entry_point, form=form, finish_reason=finish_reason
    )


def area_by(extraction):
    """Return the output of the extracted program, run as a script, for two discs."""
    assert extraction.program is not None, extraction.cause
    namespace = {"__name__": "candidate"}
    exec(compile(extraction.program, "<candidate>", "exec"), namespace)
    return namespace["area"]([1.0, 2.0])


SESSION = ">>> area([1.0])\n3.14"
RIGHT = 15.71
CHAT = {
    "a fence with a language": fence(WHOLE),
    "a fence without a language": fence(WHOLE, ""),
    "a language in capitals": fence(WHOLE, "Python"),
    "a language with a number": fence(WHOLE, "python3"),
    "a language with attributes": fence(WHOLE, 'python title="area.py"'),
    "a language in braces": fence(WHOLE, "{.python}"),
    "a fence of tildes": f"~~~python\n{WHOLE}~~~",
    "a fence of four backticks": f"````python\n{WHOLE}````",
    "prose before and after": f"Sure! Here's it:\n\n{fence(WHOLE)}\n\nIt doesn't use `numpy`.",
    "a fence inside a list item": "1. Do this:\n\n" + textwrap.indent(fence(WHOLE), "   "),
    "an unclosed fence": f"Here you go:\n```python\n{WHOLE}",
    "a fence that closes at the end of the last line": f"```python\n{WHOLE.rstrip()}```",
    "a fence on one line": "```python def area(radii): return 15.71```",
    "no fence at all": WHOLE,
    "no fence but prose around": f"Here's the function:\n\n{WHOLE}\n\nThat's all there is to it.",
    "no fence, prose on the next line": f"Here it is:\n{WHOLE}Let me know if it doesn't work!",
    "a Markdown block by indentation": "Like so:\n\n" + textwrap.indent(ALONE, "    ") + "\nDone.",
    "only the definition, imports left to the prompt": fence(DEFINITION),
    "only the definition without a fence": DEFINITION,
    "only a body, indented": fence(BODY),
    "only a body at the margin": fence(textwrap.dedent(BODY)),
    "only a body without a fence": BODY,
    "only a body whose first line lost its indentation": fence(BODY.strip()),
    "only a body, indented by two": fence(BODY.replace("    ", "  ")),
    "only a body, indented by tabs": fence(BODY.replace("    ", "\t")),
    "only a body that holds a string of several lines": fence(
        'note = """\n  kept\n"""\nassert note == "\\n  kept\\n"\n' + textwrap.dedent(BODY)
    ),
    "a body after prose without a fence": f"The body is:\n\n{BODY}\nThat's it.",
    "a block that repeats the prompt, then the body": f"{fence(PROMPT)}\nbecomes\n{fence(BODY)}",
    "a block that repeats the prompt, then the whole": f"{fence(PROMPT)}\nSo:\n{fence(WHOLE)}",
    "the prompt's helper left hollow": fence(
        "def disc(radius):\n    ...  # as given\n\n\n" + DEFINITION
    ),
    "a helper in an earlier block": fence("def circle(r):\n    return math.pi * r * r")
    + "\nand\n"
    + fence("def area(radii):\n    return round(sum(map(circle, radii)), 2)"),
    "a helper in a later block": fence(
        "def area(radii):\n    return round(sum(map(ball, radii)), 2)"
    )
    + "\nwhere\n"
    + fence("import math\nball = lambda r: math.pi * r * r"),
    "a correction after a first draft": f"{fence(WRONG)}\nThat's wrong. Corrected:\n{fence(ALONE)}",
    "an example in a block of its own": f"{fence(ALONE)}\nUse:\n{fence('print(area([1.0]))')}",
    "the output in a block of its own": f"{fence(ALONE)}\nprints\n{fence('3.14', '')}",
    "a session in a block of its own": f"{fence(ALONE)}\n{fence(SESSION, '')}",
    "a command to install something": f"{fence('pip install numpy', 'bash')}\n{fence(ALONE)}",
    "another language beside": f"{fence('function area(r) {}', 'javascript')}\n{fence(ALONE)}",
    "an example at the end of the block": fence(
        f"{ALONE}\nprint(area([1.0]))\nassert area([]) == 9"
    ),
    "a main guard": fence(
        f"{ALONE}\nif __name__ == '__main__':\n    import doctest\n    raise OSError"
    ),
    "a main function that reads input": fence(
        f"{ALONE}\ndef main():\n    print(area([float(input())]))\n\nmain()"
    ),
    "tests that import what is not there": fence(
        f"import nosuchpackage\n{ALONE}\ndef test_area():\n    nosuchpackage.check(area)\n"
    ),
    "thoughts": f"<think>\nMaybe\n{fence(WRONG)}\nno.\n</think>\n\n{fence(ALONE)}",
    "thoughts without an opening tag": f"Hm.\n{fence(WRONG)}</think>{fence(ALONE)}",
    "thoughts under another name": f"<thinking>{fence(WRONG)}</thinking>\n{fence(ALONE)}",
    "line ends of Windows": f"Here:\n\n{fence(WHOLE)}\n".replace("\n", "\r\n"),
    "tabs": fence(WHOLE.replace("    ", "\t")),
    "a byte order mark": "\ufeff" + WHOLE,
    "a token of the chat template": f"{fence(ALONE)}<|im_end|>\n<|im_start|>user\nThanks",
    "prose that slipped into the block": fence(f"{ALONE}\nThis function doesn't fail."),
    "an assignment instead of a definition": fence(
        "import math\narea = lambda radii: round(sum(math.pi * r * r for r in radii), 2)"
    ),
    "a decorated definition": fence(
        "from functools import wraps\n\ndef rounded(f):\n    @wraps(f)\n    def inner(radii):\n"
        "        return round(f(radii), 2)\n    return inner\n\n@rounded\n"
        + ALONE.replace("import math", "")
    ),
    "a definition that is wrapped later": fence(
        f"from functools import wraps\n{ALONE}\narea = wraps(area)(area)"
    ),
    "a table filled by a loop": fence(
        "import math\nTABLE = {}\nfor r in range(9):\n    TABLE[r] = math.pi * r * r\n\n"
        "def area(radii):\n    return round(sum(TABLE[int(r)] for r in radii), 2)"
    ),
    "a future import below a docstring": fence(
        f'"""Discs."""\nfrom __future__ import annotations\n{DEFINITION}'
    ),
    "a docstring that holds backticks": fence(
        DEFINITION.replace(":\n", ':\n    """Use `x`."""\n', 1)
    ),
    "headings around": f"# Solution\n\n{fence(ALONE)}\n\n## Complexity\nO(n), it's linear.",
}
COMPLETION = {
    "the body": BODY,
    "the body and the file's end": BODY + "<|endoftext|>",
    "the body and another function": f"{BODY}\n\ndef volume(radii):\n    return nosuchname\n",
    "the body and itself again": f"{BODY}\n\n{WRONG}",
    "the body and a demonstration": f"{BODY}\n\nprint(area([1.0]))\nassert area([]) == 9\n",
    "the body and a main guard": f"{BODY}\nif __name__ == '__main__':\n    main()\n",
    "the body and prose": f"{BODY}\n\nThis function doesn't need more.\n",
    "the body and the end of a fence": f"{BODY}```\n\nIt's done.\n",
    "the body and comments": f"{BODY}\n# Test it\n# area([1.0])\n",
    "a helper after the function that uses it": (
        "    return finish(sum(map(disc, radii)))\n\n\ndef finish(value):\n"
        "    from decimal import Decimal\n    return round(value, PRECISION)\n"
    ),
    "a helper and an import after the function": (
        "    return finish(sum(map(disc, radii)))\n\nimport builtins\n\n"
        "def finish(value):\n    return builtins.round(value, 2)\n\nexit()\n"
    ),
    "the body without its first indentation": BODY.lstrip(),
    "the body at the margin": textwrap.dedent(BODY),
    "the body indented by two": BODY.replace("    ", "  "),
    "line ends of Windows": BODY.replace("\n", "\r\n"),
    "a comment at the margin inside the body": BODY.replace("    return", "# done\n    return"),
    "a whole answer in a fence": f"\nHere is it:\n\n{fence(WHOLE)}\n",
    "the whole function again": DEFINITION,
    "the imports and the whole function": f"\n{ALONE}",
}


@pytest.mark.parametrize("text", CHAT.values(), ids=CHAT)
def test_the_program_in_a_chat_answer_is_found_in(text):
    assert area_by(found(text)) == RIGHT


@pytest.mark.parametrize("text", COMPLETION.values(), ids=COMPLETION)
def test_the_program_in_a_completion_is_found_in(text):
    assert area_by(found(text, form="completion")) == RIGHT


@pytest.mark.parametrize("text", CHAT.values(), ids=CHAT)
def test_a_program_brings_nothing_that_it_does_not_need(text):
    program = found(text).program
    for unneeded in ("print(", "__main__", "nosuchpackage", "def main", "test_area"):
        assert unneeded not in program


@pytest.mark.parametrize(
    "prompt",
    [
        INSTRUCTION,
        f"Please complete this:\n\n```python\n{PROMPT}```\nThanks!",
        f"Please complete this:\n\n{PROMPT}",
        BARE_SIGNATURE,
    ],
    ids=["instruction", "stub in a fence", "stub after prose", "bare signature"],
)
def test_a_whole_answer_is_found_whatever_the_prompt_looks_like(prompt):
    assert area_by(found(f"Sure!\n{fence(ALONE)}", prompt=prompt)) == RIGHT


@pytest.mark.parametrize(
    "prompt",
    [INSTRUCTION, f"Complete:\n```python\n{PROMPT}```\n", f"Complete:\n\n{PROMPT}"],
    ids=["inline signature", "stub in a fence", "stub after prose"],
)
def test_a_mere_body_takes_its_signature_from_wherever_the_prompt_shows_it(prompt):
    body = "import math\nreturn round(sum(math.pi * r * r for r in radii), 2)"
    assert area_by(found(fence(body), prompt=prompt)) == RIGHT


@pytest.mark.parametrize("opened", [f"Complete this:\n```python\n{PROMPT}", f"Go on:\n{PROMPT}"])
def test_a_completion_goes_on_where_a_prompt_with_prose_stopped(opened):
    assert area_by(found(BODY + "```\n", prompt=opened, form="completion")) == RIGHT


def test_a_class_may_be_requested():
    answer = fence("import math\n\nclass Disc:\n    def __init__(self, r):\n        self.r = r\n")
    program = found(answer, prompt="Write a class `Disc(r)`.", entry_point="Disc").program
    assert "class Disc" in program
    assert "import math" not in program


def names_in(code):
    names = {"__name__": "program"}
    exec(found(fence(code), prompt="Write `f()` and `LEVEL`.", entry_point="f").program, names)
    return names


@pytest.mark.parametrize("value", ["3", "-1.5", "60 * 60", '["low", "high"]', "{1: True}"])
def test_a_constant_may_be_requested(value):
    names = names_in(f"LEVEL: int = {value}\nOTHER = 1\ndef f():\n    return 3\n")
    assert names["LEVEL"] == eval(value)
    assert "OTHER" not in names


@pytest.mark.parametrize("value", ["[f()]", "input()", "[open('a')]", "[torch.float32]", "[n]"])
def test_a_demonstration_is_no_requested_constant(value):
    code = f"import torch\ndef f():\n    return 3\nn = int(input())\nLEVEL = {value}\n"
    assert "LEVEL" not in names_in(code)


def test_an_import_of_the_prompt_inside_its_function_serves_a_mere_body():
    prompt = 'def area(radii):\n    import math\n    """Total area."""\n'
    body = "    return round(sum(math.pi * r * r for r in radii), 2)\n"
    assert area_by(found(fence(body), prompt=prompt)) == RIGHT


def test_a_recursion_limit_is_kept_though_nothing_names_it():
    program = found(fence(f"import sys\nsys.setrecursionlimit(10**6)\n{ALONE}")).program
    assert "sys.setrecursionlimit(10**6)" in program


@pytest.mark.parametrize("form", ["chat", "completion"])
def test_a_line_of_more_digits_than_python_reads_is_an_answer_like_others(form):
    digits = "9" * 5000
    assert found(digits, form=form).cause in (None, "no_code", "syntax")
    assert found(f"```\n{digits}\n```", form=form).cause in (None, "no_code", "syntax")


@pytest.mark.parametrize("form", ["chat", "completion"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n\n",
        "I'm sorry, I can't help with that.",
        "<think>Let me see, def area",
        "```python\n```",
    ],
)
def test_an_answer_without_code_is_no_code(text, form):
    assert found(text, form=form) == Extraction(program=None, cause="no_code")


@pytest.mark.parametrize(
    "text",
    [fence("echo hello", "bash"), fence("function area() {}", "javascript"), fence(PROMPT)],
    ids=["a command", "another language", "the prompt again"],
)
def test_a_block_that_answers_nothing_is_no_code(text):
    assert found(text) == Extraction(program=None, cause="no_code")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (f"```python\n{SIGNATURE}    total = 0.0\n    for radius in", "chat"),
        (f"```python\n{SIGNATURE}    total = 0.0\n    for radius in radii:\n        pass", "chat"),
        ("Let me think about discs and", "chat"),
        ("<think>First I need to", "chat"),
        ("```python\nimport math\n", "chat"),
        ("    total = 0.0\n    for radius in ra", "completion"),
        ("    total = 0.0\n    for radius in radii:\n        total += 1", "completion"),
        ("", "chat"),
    ],
)
def test_what_ran_into_the_token_limit_before_it_was_complete_is_truncated(text, form):
    assert found(text, form=form, finish_reason="length") == Extraction(
        program=None, cause="truncated"
    )


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (f"{fence(ALONE)}\n\nThis works because the sum of", "chat"),
        (f"```python\n{ALONE}\n\ndef test_area():\n    assert area([1.0]) ==", "chat"),
        (f"{fence(ALONE)}\nOr else:\n```python\ndef area(radii):\n    return", "chat"),
        (f"```python\n{ALONE}", "chat"),
        (f"{BODY}\n\ndef volume(radii):\n    return su", "completion"),
        (BODY, "completion"),
    ],
)
def test_a_complete_program_counts_although_the_token_limit_came_later(text, form):
    assert area_by(found(text, form=form, finish_reason="length")) == RIGHT


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (fence(f"{SIGNATURE}    return ((("), "chat"),
        (f"{SIGNATURE}    return (((", "chat"),
        ("    return (((\n", "completion"),
        (fence("    return ((("), "chat"),
    ],
)
def test_a_syntax_error_is_the_models_answer_and_left_to_the_judge(text, form):
    program = found(text, form=form).program
    assert "return (((" in program
    with pytest.raises(SyntaxError):
        ast.parse(program)


@pytest.mark.parametrize(
    "text", [fence(ALONE.replace("area", "surface")), ALONE.replace("area", "s")]
)
def test_another_name_than_the_requested_one_is_left_to_the_judge(text):
    program = found(text).program
    ast.parse(program)
    assert "def area" not in program


def test_invalid_escapes_raise_no_warning():
    answer = ALONE.replace("return", "'\\d'; return")
    assert "'\\d'" in found(fence(answer)).program


PROSE = "Here's why it doesn't fail: first, we iterate (see above), then we 'add' - that's all.\n"
LONG = {
    "a long function in prose": PROSE * 40
    + fence(SIGNATURE + "    total = [x for x in radii]  # it's so\n" * 60 + "    return total")
    + PROSE * 40,
    "many functions without fences": PROSE * 40 + ALONE * 20 + PROSE * 40,
    "many blocks": "\n".join(fence(f"def f{n}():\n    return {n}\n") for n in range(100)),
    "many answers": "\n".join(fence(ALONE) for _ in range(100)),
    "nothing but openings": "```python\n'''\n" * 200,
    "brackets": "def area(radii):\n" + "    x = " + "(" * 5000 + "\n" * 98,
    "decorators": "@a\n" * 200,
    "tags": "<think></think>" * 500,
    "a patch of a patch": fence(ALONE)
    + fence("@@ -1 +1 @@\n def area(radii):\n+    x = 1\n", "diff") * 200,
    "spaces that do not break": "def area(radii):\n" + "\u00a0\u00a0\u00a0\u00a0x = 1\n" * 200,
    "indented code": "- a\n\n  def area(radii): ...\n" * 100,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
@pytest.mark.parametrize("form", ["chat", "completion"])
def test_no_line_is_parsed_more_than_a_few_times_however_long_the_answer(monkeypatch, text, form):
    parsed = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda source: parsed.append(len(source)) or parse(source))
    statements.cache_clear()
    found(text, form=form)
    assert sum(parsed) < 12 * (len(text) + len(PROMPT))


@pytest.mark.parametrize(
    "line",
    ['"\\"' * 20_000, "'" * 40_000, "`" * 40_000, " \t" * 20_000, "```" + " " * 40_000 + "x"],
)
def test_no_line_makes_the_patterns_backtrack(line):
    began = time.process_time()
    found(f"def area(radii):\n    {line}\n{line}\n" * 3)
    assert time.process_time() - began < 5  # quadratic time would take a minute or more


@given(st.text(alphabet="abd ef():=\n\t'\"`#@\\<>think[]{}\r\x00,.", max_size=400), st.booleans())
@settings(deadline=None, max_examples=150)
def test_any_text_has_either_a_program_or_a_cause(text, cut_off):
    for form in ("chat", "completion"):
        extraction = found(text, form=form, finish_reason="length" if cut_off else "stop")
        assert (extraction.program is None) != (extraction.cause is None)
        assert cut_off or extraction.cause != "truncated"


@given(st.text(alphabet="ab \n'\"#():\\", max_size=300))
@settings(deadline=None, max_examples=150)
def test_cutting_into_chunks_loses_no_line(source):
    lines = [line for chunk in chunks(source) for line in chunk.split("\n") if line.strip()]
    assert lines == [line for line in source.split("\n") if line.strip()]
