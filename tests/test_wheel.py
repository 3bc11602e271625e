"""What a user gets from the package registry: everything a run needs, and nothing of ours alone."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MIB = 2**20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    [path] = folder.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    wheel.extractall(folder)
    return folder


def files(wheel: zipfile.ZipFile, prefix: str) -> dict[str, int]:
    return {
        info.filename.removeprefix(prefix): info.file_size
        for info in wheel.infolist()
        if info.filename.startswith(prefix)
    }


def test_the_template_library_is_in_it_whole(wheel):
    ours = {
        path.relative_to(ROOT / "templates").as_posix()
        for path in (ROOT / "templates").rglob("*")
        if path.is_file()
    }
    assert set(files(wheel, "pytest_promptse/templates/")) == ours


def test_the_tiny_model_is_in_it_and_small(wheel):
    weights = files(wheel, "pytest_promptse/models/tiny/")
    assert {name.partition("/")[0] for name in weights} == {"ct2"}
    assert sum(weights.values()) <= 2 * MIB


def test_types_schema_and_page_are_in_it(wheel):
    names = set(wheel.namelist())
    assert {
        "pytest_promptse/py.typed",
        "pytest_promptse/record/record.schema.json",
        "pytest_promptse/psychometrics/csi/data/NOTICE",
        "pytest_promptse/psychometrics/csi/data/ipip_big_five.json",
        "pytest_promptse/psychometrics/csi/data/valence_zh.tsv",
        "pytest_promptse/psychometrics/csi/data/words_developer.jsonl",
        "pytest_promptse/psychometrics/csi/data/words_en.jsonl",
        "pytest_promptse/psychometrics/csi/data/words_zh.jsonl",
        "pytest_promptse/psychometrics/emotionbench/data/human_norms.json",
        "pytest_promptse/psychometrics/emotionbench/data/situations.json",
        "pytest_promptse/reports/html/page/page.html.j2",
    } <= names


def test_tests_suites_and_tools_are_not(wheel):
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"pytest_promptse"}


def test_it_registers_with_pytest_and_brings_the_command(wheel):
    [entry_points] = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    text = wheel.read(entry_points).decode()
    assert "[pytest11]\npromptse = pytest_promptse.plugin._hooks" in text
    assert "promptse = pytest_promptse.cli._main:main" in text


def test_a_run_from_the_wheel_needs_no_checkout(unpacked, tmp_path):
    suite = tmp_path / "add.promptse.yaml"
    suite.write_text(
        "promptse: 1\nsettings: {variants: 1, samples: 1, original_samples: 1}\ntasks:\n"
        "  - id: add\n    prompt: Write `add(a, b)`, return the sum of both numbers, no more.\n"
        "    examples: [{call: 'add(1, 2)', expect: 3}]\n"
    )
    # First on the path, so that the checkout that this environment knows stays out of the way.
    script = (
        f"import sys; sys.path[:0] = [{str(unpacked)!r}]; import pytest_promptse, pytest; "
        f"assert pytest_promptse.__file__.startswith({str(unpacked)!r}); "
        "sys.exit(pytest.main(['-q', '-p', 'no:xdist', '--promptse-model', 'tiny']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stdout
