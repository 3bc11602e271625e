from __future__ import annotations

from pathlib import Path

from pytest_promptse.sandbox._mounts import PACKAGES, build_mounts


def test_every_path_of_the_host_exists_and_the_interpreter_is_among_them():
    mounts = build_mounts(())
    sources = [Path(source) for source, _ in mounts.binds]
    assert all(source.exists() for source in sources)
    assert any(Path(mounts.python).is_relative_to(source) for source in sources)


def test_installed_packages_are_hidden_except_those_that_are_named():
    plain, with_numpy = build_mounts(()), build_mounts(("numpy", "not_installed_anywhere"))
    assert with_numpy.hidden == plain.hidden
    assert all(name.endswith(("site-packages", "dist-packages")) for name in plain.hidden)
    added = set(with_numpy.binds) - set(plain.binds)
    assert f"{PACKAGES}/numpy" in {target for _, target in added}
    assert all(target.startswith(f"{PACKAGES}/numpy") for _, target in added)


def test_no_project_or_home_is_in_the_jail():
    here = Path(__file__).resolve()
    assert not any(here.is_relative_to(source) for source, _ in build_mounts(("numpy",)).binds)


def test_a_temporary_folder_is_shown_unless_it_would_hide_something_of_the_jail_or_lies_in_it():
    inside = ("/usr/bin/x", "/usr", "/", "/tmp", "/tmp/x", "/etc/x", "/bin/x", "/dev/shm/x")
    mounts = build_mounts((), temporary=("/var/tmp/a/b", "/var/tmp/a", "/var/tmp/ab", *inside))
    assert mounts.temporary == ("/var/tmp/a", "/var/tmp/ab")
