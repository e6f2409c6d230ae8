"""A record is whole or not there, fits its schema, and is never written over."""

import json
import os
import threading

import pytest

import sample_records
from host import records
from host.planning import axes


def sample(**changes):
    """Return a valid record, changed."""
    return sample_records.record(sample_records.cell(), **changes)


def test_a_written_record_is_read_back(tmp_path):
    path = tmp_path / "a" / "b" / "record.json"
    records.write(sample(), path)
    assert records.read(path) == sample()
    assert os.listdir(path.parent) == ["record.json"]


@pytest.mark.parametrize("status", sample_records.STATUSES)
def test_a_record_that_is_not_ok_needs_a_reason(status):
    records.check(sample(status=status, reason="a reason"))
    with pytest.raises(records.Invalid, match="reason"):
        records.check(sample(status=status, reason="a reason") | {"reason": None})


def test_an_ok_record_has_no_reason():
    with pytest.raises(records.Invalid, match="reason"):
        records.check(sample() | {"reason": "all is well"})


@pytest.mark.parametrize("missing", ["step_ns", "block_ns", "losses", "timer", "weights_sha256"])
def test_an_ok_measured_record_has_its_numbers(missing):
    with pytest.raises(records.Invalid, match=missing):
        records.check(sample() | {missing: None})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("step_ns", [1, 2.5]),
        ("step_ns", [5, 0]),
        ("losses", [[0, "nan"]]),
        ("block_ns", [[50]]),
        ("status", "fine"),
        ("schema", "levelfield/record/0"),
        ("weights_sha256", "abc"),
        ("step_seconds", 1.0),
    ],
)
def test_what_does_not_fit_the_schema_is_named(field, value):
    with pytest.raises(records.Invalid, match=field):
        records.check(sample() | {field: value})


def test_the_cell_in_a_record_is_checked():
    with pytest.raises(records.Invalid, match="cell.batch"):
        records.check(sample() | {"cell": sample_records.cell() | {"batch": 0}})


def test_the_cell_schema_has_the_axes():
    properties = records.validator("cell").schema["properties"]
    assert set(properties) == set(axes.BY_NAME) | {"protocol", "repeat", "attempt"}
    for axis in axes.AXES:
        if axis.choices:
            assert properties[axis.name]["enum"] == list(axis.choices)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_nan_is_refused_and_nothing_is_written(number, tmp_path):
    with pytest.raises(records.Invalid, match="nan or inf"):
        records.write(sample() | {"knobs": {"threads": number}}, tmp_path / "record.json")
    assert os.listdir(tmp_path) == []


def test_a_record_is_never_written_over(tmp_path):
    path = tmp_path / "record.json"
    records.write(sample(), path)
    with pytest.raises(FileExistsError):
        records.write(sample(status="failed", reason="later"), path)
    assert records.read(path)["status"] == "ok"
    assert os.listdir(tmp_path) == ["record.json"]


@pytest.mark.parametrize("links", [True, False])
def test_of_many_writers_one_wins_and_readers_see_whole_records(links, tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    if not links:  # a file system without hard links

        def refuse(*_):
            raise PermissionError("no links here")

        monkeypatch.setattr(os, "link", refuse)
    writers, seen, wins = 8 if links else 1, [], []
    start = threading.Barrier(writers + 1)

    def write(number):
        monkeypatch.setattr(os, "getpid", threading.get_ident)  # each writer as a process of its own
        start.wait()
        try:
            records.write(sample(study=str(number)), path)
            wins.append(number)
        except FileExistsError:
            pass

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    start.wait()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            seen.append(records.read(path)["study"])
    assert len(wins) == 1 and set(seen) <= {str(wins[0])}
    assert records.read(path)["study"] == str(wins[0])
    assert os.listdir(tmp_path) == ["record.json"]


def test_a_half_written_file_never_has_the_records_name(tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        records.write(sample(), tmp_path / "record.json")
    assert os.listdir(tmp_path) == []


def test_leftovers_of_killed_runners_are_swept_and_others_kept(tmp_path):
    path = tmp_path / "record.json"
    dead = tmp_path / ".record.json.999999999.tmp"
    alive = tmp_path / ".record.json.{}.tmp".format(os.getpid())
    other = tmp_path / ".other.json.999999999.tmp"
    for leftover in (dead, alive, other):
        leftover.write_text("{")
    records.sweep(path)
    assert sorted(tmp_path.iterdir()) == sorted([alive, other])


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "levelfield/record/1"}'])
def test_a_damaged_file_is_no_record_and_is_kept_aside(content, tmp_path):
    path = tmp_path / "record.json"
    path.write_text(content)
    assert not records.is_valid(path)
    with pytest.raises(records.Invalid, match="record.json"):
        records.read(path)
    assert records.set_aside(path).read_text() == content and not path.exists()


def test_a_record_is_json_that_any_reader_takes(tmp_path):
    path = tmp_path / "record.json"
    records.write(sample(), path)

    def refuse(name):
        raise AssertionError(name)

    assert json.loads(path.read_text(), parse_constant=refuse)["status"] == "ok"
