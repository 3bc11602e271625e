"""Every command in the docs runs in a new user's project and prints what the page shows."""

from __future__ import annotations

import pytest
from pages import PAGES, ROOT, UPDATE, Block, blocks, rewrite
from shown_output import first_missing, updated
from stand_ins import NODE_PACKAGES

# Commands that cannot run here, by a part of the command, with the reason.
NOT_RUN = {
    "tools/setup": "makes an environment; .ci/run begins with it",
    "example_suites/quickstart": "a test of its own runs it below",
    "example_suites/failing_gate": "a test of its own runs it below",
    "tools/train_tiny.py": "trains for a quarter of an hour, with torch",
    "ct2-transformers-converter": "downloads a model of a gigabyte",
    "sphinx-build": "tests/docs/test_site.py runs it",
    "promptse batch submit": "tests/plugin/test_batch.py runs it",
    "vllm run-batch": "tests/vllm/test_vllm_batch.py runs it with the embedded weights",
    "promptse batch run": "tests/ray and tests/vllm/test_vllm_batch.py run it",
    "promptse shard run": "tests/ray/test_ray_shards.py runs it",
    "promptse store import": "tests/store/test_transfer.py runs it on two stores",
    "example_suites/csi": "tests/plugin/test_instruments.py runs such suites",
    "example_suites/emotionbench": "tests/plugin/test_instruments.py runs such suites",
    "example_suites/manipulation": "tests/plugin/test_instruments.py runs such suites",
    "promptse csi": "tests/psychometrics/csi runs it",
    "promptse emotionbench": "tests/psychometrics/emotionbench runs it",
    "llm:openai": "tests/plugin/test_llm_rewriter.py runs it against a scripted server",
    "promptse harden": "tests/cli/test_harden.py runs it on the same prompt",
    "replay:samples.jsonl": "tests/plugin/test_humaneval_samples.py runs it on such a file",
}
# Added to pytest's options if a page needs more time than a test may take.
SMALLER = {
    "example_suites/humaneval/README.md": (
        "--promptse-variants 1 --promptse-samples 1 --promptse-original-samples 1 -k HumanEval/15"
    ),
}
RUN = [page for page in PAGES if any(block.is_run for block in blocks(page))]


def is_run(block) -> bool:
    return block.is_run and not any(part in block.text for part in NOT_RUN)


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says(page, shell, paid_model, pytestconfig):
    if any((block.file or "").startswith("test_") for block in blocks(page)):
        # The page begins with a test of its own.
        (shell.project / "test_slug.py").unlink()
    if (
        any("npm install" in block.commands for block in blocks(page))
        and not NODE_PACKAGES.exists()
    ):
        pytest.skip(f"needs npm install --prefix {NODE_PACKAGES.parent}")
    is_updated = pytestconfig.getoption(UPDATE, default=False)
    now: dict[Block, list[str]] = {}
    variables = {}
    if more := SMALLER.get(str(page.relative_to(ROOT))):
        variables["PYTEST_ADDOPTS"] = more
    for block in blocks(page):
        if block.file is not None:
            file = shell.project / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        if not is_run(block):
            continue
        suites = shell.project / "example_suites"
        if suites.name in block.text and not suites.exists():
            suites.symlink_to(ROOT / suites.name)
        script = block.commands.replace("http://localhost:8000/v1", paid_model.base_url)
        assert script.strip(), f"{block.id}: commands of a console begin with '$ '"
        done = shell(script, **variables)
        said = f"{block.id}\n{script}\n{done.stdout}{done.stderr}"
        assert done.returncode == block.status, said
        missing = first_missing(block.output, done.stdout)
        if missing is not None and is_updated:
            now[block] = updated(block.rows, done.stdout)
            continue
        assert missing is None, f"not said: {missing}\n{said}"
    if now:
        rewrite(page, now)


def test_the_quickstart_ends_green(shell, tmp_path):
    options = f"-p no:cacheprovider --promptse-store {tmp_path}"
    done = shell(f"pytest --promptse-model tiny example_suites/quickstart {options}", folder=ROOT)
    assert done.returncode == 0, done.stdout
    assert "296 passed" in done.stdout


@pytest.mark.parametrize("workers", ["", "-n 2"])
def test_the_failing_gate_prints_what_the_readme_shows(shell, tmp_path, workers):
    options = f"-p no:cacheprovider -o promptse_store={tmp_path} {workers}"
    done = shell(f"pytest --promptse-model tiny example_suites/failing_gate {options}", folder=ROOT)
    assert done.returncode == 1, done.stdout
    [shown] = [
        block
        for block in blocks(ROOT / "README.md")
        if block.commands.startswith("pytest --promptse-model tiny") and len(block.output) > 1
    ]
    assert first_missing(shown.output, done.stdout) is None, done.stdout


def test_what_is_not_run_is_there_to_run():
    texts = [block.text for page in PAGES for block in blocks(page) if block.is_run]
    assert [part for part in NOT_RUN if not any(part in text for text in texts)] == []
