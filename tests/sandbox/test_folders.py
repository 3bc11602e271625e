"""Two folders that are kept equal by their changes: what comes across, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.sandbox.guest.folders import Folder
from pytest_promptse.sandbox.guest.wire import WireError


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
            {outer if outer.startswith("/") else inner + "../" + outer: b"x"}
        )


def test_nothing_is_written_behind_a_link(pair):
    ours, theirs = pair
    (ours / "link").symlink_to(theirs)
    (ours / "file").symlink_to(theirs / "file")
    for name in ("link/x", "file"):
        with pytest.raises(WireError, match="link"):
            Folder(str(ours)).update({name: b"x"})
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
