"""Two folders that are kept equal by their changes: what comes across, and what is refused."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.sandbox.guest.folders import Folder
from pytest_promptse.sandbox.guest.wire import WireError

FILE = (b"x", 0o644, 0)


def content(path):
    return {
        str(entry.relative_to(path)): entry.read_bytes() if entry.is_file() else None
        for entry in path.rglob("*")
    }


@pytest.fixture
def pair(tmp_path):
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    return tmp_path / "ours", tmp_path / "theirs"


def test_files_folders_changes_and_deletions_come_across(pair):
    ours, theirs = pair
    sender, receiver = Folder(str(ours)), Folder(str(theirs))
    (ours / "a" / "b").mkdir(parents=True)
    (ours / "a" / "x.txt").write_text("one")
    (ours / "y.bin").write_bytes(b"\x00\xff")
    receiver.update(sender.take_changes())
    assert content(theirs) == content(ours)
    (ours / "a" / "x.txt").write_text("longer")
    (ours / "a" / "b").rmdir()
    (ours / "y.bin").rename(ours / "z.bin")
    receiver.update(sender.take_changes())
    assert content(theirs) == content(ours)
    assert sender.take_changes() == receiver.take_changes() == {}


def test_times_and_permissions_come_across_and_hide_no_change(pair):
    ours, theirs = pair
    sender, receiver = Folder(str(ours)), Folder(str(theirs))
    (ours / "x").write_text("one")
    (ours / "x").chmod(0o555)
    os.utime(ours / "x", (5, 5))
    receiver.update(sender.take_changes())
    assert (theirs / "x").stat().st_mode & 0o777 == 0o555
    assert (theirs / "x").stat().st_mtime == 5
    (theirs / "x").chmod(0o755)
    (theirs / "x").write_text("two")
    os.utime(theirs / "x", (5, 5))
    sender.update(receiver.take_changes())
    assert (ours / "x").read_text() == "two"
    assert sender.take_changes() == receiver.take_changes() == {}


@pytest.mark.parametrize("moment", [2**1000, -(2**1000)])
def test_an_impossible_time_is_refused(pair, moment):
    with pytest.raises(WireError):
        Folder(str(pair[0])).update({"x": (b"x", 0o644, moment)})


def test_a_deleted_tree_is_deleted(pair):
    ours, theirs = pair
    sender, receiver = Folder(str(ours)), Folder(str(theirs))
    (ours / "a" / "b").mkdir(parents=True)
    (ours / "a" / "b" / "c").write_text("x")
    receiver.update(sender.take_changes())
    (ours / "a" / "b" / "c").unlink()
    (ours / "a" / "b").rmdir()
    (ours / "a").rmdir()
    receiver.update(sender.take_changes())
    assert content(theirs) == {}


@given(
    inner=st.sampled_from(["", "a/", "a/b/"]),
    outer=st.sampled_from(["../x", "/tmp/x", "b/../../x"]),
)
def test_no_name_leads_out_of_the_folder(tmp_path_factory, inner, outer):
    folder = tmp_path_factory.mktemp("folder")
    with pytest.raises(WireError):
        Folder(str(folder)).update(
            {outer if outer.startswith("/") else inner + "../" + outer: FILE}
        )


def test_nothing_is_written_behind_a_link(pair):
    ours, theirs = pair
    (ours / "link").symlink_to(theirs)
    (ours / "file").symlink_to(theirs / "file")
    for name in ("link/x", "file"):
        with pytest.raises(WireError, match="link"):
            Folder(str(ours)).update({name: FILE})
    assert content(theirs) == {}


def test_links_are_not_sent(pair):
    ours, _ = pair
    (ours / "link").symlink_to("/etc/passwd")
    assert Folder(str(ours)).take_changes() == {}


def test_a_folder_with_too_many_entries_or_bytes_is_refused(pair):
    ours, theirs = pair
    for number in range(1001):
        (ours / str(number)).touch()
    with (theirs / "large").open("wb") as file:
        file.truncate(9 * 2**20)
    for path in pair:
        with pytest.raises(WireError, match="over"):
            Folder(str(path)).take_changes()
