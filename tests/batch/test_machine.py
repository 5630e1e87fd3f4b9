"""How many lanes a machine has room for."""

import os

import pytest

from grader.batch.machine import LANE_BYTES, available_bytes, default_width, usable_cores

GB = 2**30


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A machine of 16 cores that says nothing else of itself."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    return tmp_path


def tell(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_every_core_that_may_be_used_gets_a_lane(root):
    assert (usable_cores(root), default_width(root), available_bytes(root)) == (16, 16, None)


@pytest.mark.parametrize(
    ("told", "cores"),
    [("max 100000\n", 16), ("200000 100000\n", 2), ("50000 100000", 1), ("150000 100000", 2),
     ("9900000 100000", 16), ("", 16), ("nonsense", 16)],
)  # fmt: skip
def test_a_containers_share_of_the_cores_counts(root, told, cores):
    tell(root, "sys/fs/cgroup/cpu.max", told)
    assert usable_cores(root) == cores


@pytest.mark.parametrize(("quota", "cores"), [("-1", 16), ("300000", 3)])
def test_a_share_of_the_first_version_counts(root, quota, cores):
    tell(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota)
    tell(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")
    assert usable_cores(root) == cores


def test_there_are_no_more_lanes_than_memory_is_free(root):
    tell(root, "proc/meminfo", f"MemTotal: 99999999 kB\nMemAvailable: {8 * GB // 1024} kB\n")
    assert available_bytes(root) == 8 * GB
    assert default_width(root) == 8 * GB // LANE_BYTES
    tell(root, "sys/fs/cgroup/memory.max", "max\n")
    tell(root, "sys/fs/cgroup/memory.current", f"{GB}\n")
    assert available_bytes(root) == 8 * GB
    tell(root, "sys/fs/cgroup/memory.max", f"{3 * GB}\n")
    assert available_bytes(root) == 2 * GB
    assert default_width(root) == 2 * GB // LANE_BYTES
    tell(root, "sys/fs/cgroup/memory.max", f"{GB // 2}\n")
    assert (available_bytes(root), default_width(root)) == (0, 1)
