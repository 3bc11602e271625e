"""What other packages add through hooks is found before what is built in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_promptse.config._settings import resolve
from pytest_promptse.errors import SettingsError, VariantError
from pytest_promptse.models._reference import ReferenceBackend
from pytest_promptse.models._registry import ModelOptions
from pytest_promptse.run._extensions import Extensions, model_options
from pytest_promptse.variants._library_files import load_library


def extensions(**found):
    """Return extensions whose hooks record their arguments and give what `found` has for them."""
    calls = []

    def hook(name, default):
        def call(**arguments):
            calls.append((name, arguments))
            return found.get(name, default)

        return call

    hooks = {name: hook(name, None) for name in ("backend", "rewriter", "report")}
    hooks["names"] = hook("names", [])
    relay = SimpleNamespace(**{f"pytest_promptse_{name}": call for name, call in hooks.items()})
    return Extensions(relay), calls


def test_names_of_all_packages_are_listed():
    made, calls = extensions(names=[["a", "b"], [], ["c"]])
    assert made.names("report") == ["a", "b", "c"]
    assert calls == [("names", {"kind": "report"})]


def test_a_backend_of_a_package_comes_before_one_that_is_built_in():
    own, options = object(), ModelOptions(base_url="http://host/v1")
    made, calls = extensions(backend=own)
    assert made.backend("reference:x", options) is own
    assert calls == [("backend", {"name": "reference", "model": "x", "options": options})]
    assert made.offered_backend("other:a:b", options) is own
    assert calls[-1][1]["model"] == "a:b"
    built_in, calls = extensions()
    assert isinstance(built_in.backend("reference"), ReferenceBackend)
    assert calls[0][1]["options"] == ModelOptions()
    named, _ = extensions(names=[["own"]])
    with pytest.raises(SettingsError, match=r"(?s)'owm'.*own"):
        named.backend("owm:x")


def test_a_rewriter_of_a_package_comes_before_one_that_is_built_in():
    library = load_library()
    made, _ = extensions()
    assert made.rewriter("rules", library=library).label.startswith("rules/")
    named, _ = extensions(names=[["own"]])
    with pytest.raises(VariantError, match=r"(?s)'owm'.*own"):
        named.rewriter("owm", library=library)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("html:report.html", None),
        ("csv:figures", None),
        ("md:folder", "folder is a folder; give another path"),
        ("csv:file", "file is a file; give another path"),
        ("jsn:run.json", "there is no report 'jsn' (did you mean 'json'?); there are json, html, "),
        ("own:folder", "there is no report 'own'"),
        ("github", "GITHUB_STEP_SUMMARY is not set, so this is not a job of GitHub Actions; give"),
    ],
)
def test_a_report_needs_a_kind_and_a_path_that_can_be_written(tmp_path, target, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    made, _ = extensions(names=[["extra"]])
    if message is None:
        made.check_report(target, where="--promptse-report", folder=tmp_path)
        return
    with pytest.raises(SettingsError) as raised:
        made.check_report(target, where="--promptse-report", folder=tmp_path)
    assert str(raised.value).startswith(f"--promptse-report {target}: ")
    assert message in str(raised.value)
    if "there is no" in message:
        assert str(raised.value).endswith(", extra")


def test_a_report_of_a_package_may_be_a_file_or_a_folder_and_is_written_by_it(record, tmp_path):
    written = []
    made, _ = extensions(report=lambda *arguments: written.append(arguments))
    (tmp_path / "folder").mkdir()
    made.check_report("own:folder", where="x", folder=tmp_path)
    made.write_report(record, "own:new/deep/file", folder=tmp_path)
    assert written == [(record, tmp_path / "new/deep/file")]
    assert (tmp_path / "new/deep").is_dir()
    built_in, _ = extensions()
    built_in.write_report(record, "json:run.json", folder=tmp_path)
    assert (tmp_path / "run.json").stat().st_size > 100


def test_a_backend_gets_the_settings_of_its_server():
    values = {
        "base_url": "http://host/v1",
        "api": "completions",
        "request_timeout": 7,
        "header": ["X-Team: a"],
        "ca_bundle": "ca.pem",
        "client_certificate": "c.pem",
        "client_key": "k.pem",
        "proxy": "http://proxy:1",
    }
    settings = resolve([(values, str)])
    options = model_options(settings)
    assert (options.base_url, options.timeout) == (settings.base_url, 7)
    assert options.api == settings.api
    assert options.vllm_args == settings.vllm_args
    gateway = options.gateway
    assert (gateway.headers, gateway.proxy) == (settings.header, settings.proxy)
    assert gateway.ca_bundle == settings.ca_bundle
    files = settings.client_certificate, settings.client_key
    assert (gateway.client_certificate, gateway.client_key) == files
    assert None not in (*files, gateway.ca_bundle, gateway.proxy)
