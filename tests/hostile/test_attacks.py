"""Attacks: each is graded beside an honest submission, and must break nothing and win nothing.

Every attack comes with a wrong implementation, so whatever it wins beyond that one's points is a
breach; so is a change in the sibling's report, a process or a file that is left, or a report that is
not made. All are tried in namespaces; without these, and as a user without rights, those that the
isolation matters to. `make attack` tries all of them at both levels.
"""

import json
import os
import socket
import subprocess

import pytest

from grader.sandbox.system import IS_LINUX
from grader.worker.client import ForkLauncher
from tests.hostile.arena import HERE, ROOT, SECRET, Arena, attacks, small_assignment, try_all
from tests.sandbox.unprivileged import environment, needs_root, python_for_everybody

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="the sandbox is Linux's")
ATTACKS = attacks(HERE / "attacks")
OF_THE_SYSTEM = (
    "abstract_socket_meeting_point", "canaries_everywhere",
    "choke_parent_limits",
    "deep_folders_of_mode_zero", "descriptors_of_parent", "disk_bomb_one_file_and_sparse",
    "double_fork_setsid_daemon", "environ_of_every_process", "fork_bomb_of_sleepers",
    "home_passwd_and_shadow", "inode_bomb_many_files", "kernel_surface_sweep",
    "memory_of_parent",
    "ptrace_parent", "setown_signals_parent",
    "sigstop_parent", "sockets_of_many_families", "sysv_ipc_left_behind",
    "terminate_parent_by_every_signal", "touch_library_files", "vm_readv_and_kcmp_parent",

)  # fmt: skip


@pytest.fixture(scope="module")
def arena():
    with small_assignment() as assignment, ForkLauncher("namespaces") as launcher:
        yield Arena(launcher, assignment)


@pytest.mark.parametrize("name", list(ATTACKS))
def test_an_attack_breaks_nothing_and_wins_nothing(arena, monkeypatch, name):
    monkeypatch.setenv("GRADER_CANARY_SECRET", SECRET)
    result = arena.attack(name, ATTACKS[name])
    assert result["breaches"] == []
    assert result["isolation"] == "namespaces"


def test_without_namespaces_the_system_is_as_safe():
    results = list(try_all("limits", HERE / "attacks", OF_THE_SYSTEM))
    assert len(results) == len(OF_THE_SYSTEM)
    assert {r["name"]: r["breaches"] for r in results if r["breaches"]} == {}
    assert {r["isolation"] for r in results} == {"limits"}


@needs_root
@pytest.mark.parametrize("level", ["limits"])  # its namespaces are tried in tests/sandbox
def test_as_a_user_without_rights_the_system_is_as_safe(level):
    python = python_for_everybody()
    command = [python, HERE / "arena.py", level, HERE / "attacks", *OF_THE_SYSTEM]
    ran = subprocess.run(
        command, env=environment(ROOT), cwd="/", user=65534, group=65534, extra_groups=[],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "cannot be shut in" in ran.stderr:
        pytest.skip(ran.stderr.splitlines()[-1])
    results = [json.loads(line) for line in ran.stdout.splitlines()]
    assert {r["name"]: r["breaches"] for r in results if r["breaches"]} == {}, ran.stderr
    assert len(results) == len(OF_THE_SYSTEM), ran.stderr
    assert os.geteuid() == 0  # and it was another user who tried


def test_the_arena_hears_a_knock(arena):
    before = arena._knocks()
    heard = 0
    for door in arena._doors:
        with socket.socket(socket.AF_INET, door.type) as visitor:
            visitor.connect(door.getsockname())
            visitor.send(b"x")
        heard += 1
    assert heard
    assert arena._knocks() == before + heard
