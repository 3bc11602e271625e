"""Chinese variants fit what a prompt says of its writer, its reader and its punctuation."""

from __future__ import annotations

import re

import pytest

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._library_files import load_library

REQUEST = "\u3002写一个函数 `f(x)`\u3002"
REFUSED = {
    "有点担心,定时任务好像会重复执行": "calm confident excited",
    "刚开始学编程,基础比较差": "senior",
    "线上又报警了,烦死了": "calm confident excited adaptive",
    "今天摸鱼,下午没啥事": "stressed frustrated anxious plan",
    "我写前端八年了": "junior",
    "数仓刚接手,不太熟": "senior confident",
    "急,在线等": "calm excited adaptive",
    "真的受够了": "calm confident excited focused",
    "今天心情超好": "anxious frustrated stressed tired",
}
SILENT = ["内存紧张时释放缓存", "节假日和周末不算工作日", "麻烦写清楚,失败时返回 None"]


@pytest.mark.parametrize("prompt", [*REFUSED, *SILENT])
def test_what_a_prompt_says_of_its_writer_refuses_emotions_and_traits(prompt):
    refused = load_library().refused_by(prompt + REQUEST)
    assert refused >= set(REFUSED.get(prompt, "").split())
    assert prompt in REFUSED or not refused


@pytest.mark.parametrize("call", ["在吗 @小李 ", "师兄,", "老张在不?", "@王磊 有空吗,"])
def test_a_message_to_a_friend_begins_with_its_own_words_and_tells_no_biography(call):
    task = Task(id="c", prompt=f"{call}帮我写个脚本呗,把文件按日期改名", entry_point="f")
    for variant in generate(task, Selection(per_distance=16)).variants:
        assert variant.text.startswith(call)
        assert re.match(r"[^\n]*按日期改名", variant.text)
        assert "technical" not in variant.cues


def test_each_mark_has_the_width_that_the_prompt_gives_it():
    prompt = "写一个函数,返回总和,空列表返回 0\u3002请不要修改输入\u3002"
    made = generate(Task(id="m", prompt=prompt, entry_point="f"), Selection(per_distance=16))
    for variant in made.variants:
        assert not re.search("[\uff0c\uff1a]", variant.text)
        assert not re.search(r"[\u4e00-\u9fff]\.", variant.text)


@pytest.mark.parametrize("prompt", ["线上又报警了,烦死了", "客户等着要,今晚上线"])
def test_nobody_with_trouble_at_work_is_at_home_or_learns_to_program(prompt):
    made = generate(
        Task(id="w", prompt=prompt + REQUEST),
        Selection(per_distance=32, distances=(0.2, 0.3)),
    )
    for variant in made.variants:
        assert not re.search("室友|夜校|自学|刚学编程|在家|小服务器", variant.text)
