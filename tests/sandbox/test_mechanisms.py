"""Each mechanism of the sandbox: with it an attack fails, without it the attack succeeds.

The attacks are the probe's, which `grader doctor` runs. Several mechanisms often stop the same one;
then all of them are left out together, and each alone is shown to be enough.
"""

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from grader.errors import IsolationUnavailable
from grader.sandbox import MECHANISMS
from grader.sandbox.system import IS_LINUX
from grader.worker.client import ForkLauncher
from grader.worker.doctor import attempt, bait, examine, load_probe, probe_functions
from tests.sandbox.unprivileged import IS_ROOT, environment, needs_root, python_for_everybody

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="the sandbox is Linux's")
ROOT = Path(__file__).parents[2]

# what an attack needs to be left out, in namespaces that root entered
NAMESPACES = {
    "use_other_descriptors": ["descriptors"],
    "read_a_file": ["filesystem", "landlock"],
    "list_a_folder": ["filesystem", "landlock"],
    "write_a_file": ["filesystem", "landlock"],
    "change_a_file": ["filesystem", "seccomp", "identity"],
    "see_a_process": ["pid namespace"],
    "signal_a_process": ["pid namespace", "seccomp", "landlock", "identity"],
    "read_the_memory_of_a_process": [
        "pid namespace", "seccomp", "landlock", "identity", "capabilities",
    ],
    "start_a_process": ["seccomp"],
    "run_a_program": ["seccomp"],
    "open_a_socket_to_the_host": ["seccomp"],
    "connect_to": ["network namespace", "seccomp", "landlock"],
    "send_a_datagram_to": ["network namespace", "seccomp"],
    "use_shared_memory": ["ipc namespace", "seccomp"],
    "be_the_same_user": ["identity"],
    "have_capabilities": ["identity", "capabilities"],
    "gain_privileges": ["no_new_privs", "landlock", "seccomp"],
    "change_the_host_name": ["uts namespace", "identity", "capabilities", "seccomp"],
    "know_the_host_name": ["uts namespace"],
    "know_its_control_group": ["cgroup namespace", "filesystem", "landlock"],
    "take_much_memory": ["limits"],
    "start_many_threads": ["limits", "cgroup"],
    "write_a_core": ["limits"],
}  # fmt: skip
# and where there are no namespaces
LIMITS = {
    "use_other_descriptors": ["descriptors"],
    "read_a_file": ["landlock"],
    "list_a_folder": ["landlock"],
    "write_a_file": ["landlock"],
    "change_a_file": ["seccomp", "identity"],
    "signal_a_process": ["seccomp", "landlock", "identity"],
    "read_the_memory_of_a_process": ["seccomp", "landlock", "identity", "capabilities"],
    "start_a_process": ["seccomp"],
    "run_a_program": ["seccomp"],
    "open_a_socket_to_the_host": ["seccomp"],
    "connect_to": ["seccomp", "landlock"],
    "send_a_datagram_to": ["seccomp"],
    "use_shared_memory": ["seccomp"],
    "have_capabilities": ["identity", "capabilities"],
    "gain_privileges": ["no_new_privs", "landlock", "seccomp"],
    "take_much_memory": ["limits"],
    "start_many_threads": ["limits", "cgroup"],
    "write_a_core": ["limits"],
}
# What a worker without namespaces can do: it knows of the machine, but cannot change it. Root's has
# root's id, though none of its rights, where other users may not read the installed packages.
KNOWN = {"see_a_process", "be_the_same_user", "know_the_host_name"}


TABLES = {"namespaces": NAMESPACES, "limits": LIMITS}
THREADS = ("start_many_threads", "limits")


@pytest.fixture(scope="module")
def baited():
    with bait() as arguments:
        yield arguments


# A mechanism that is enough against an attack by itself, the others left out: all of them, but for
# no_new_privs, which two others need, and, without namespaces, an id of its own, which root cannot
# give where other users may not read the installed packages.
ENOUGH = [
    (level, name, kept)
    for level, table in TABLES.items()
    for name, every in table.items()
    for kept in every
    if name != "gain_privileges"
    and not (level == "limits" and (kept == "identity" or (name, kept) == THREADS))
]


@pytest.fixture(scope="module")
def started():
    """A launcher for each level that the machine has."""
    found = {}
    with ExitStack() as stack:
        for level in TABLES:
            launcher = stack.enter_context(ForkLauncher(level))
            try:
                launcher.start_and_end()
            except IsolationUnavailable:
                continue
            found[level] = launcher
        yield found


@pytest.fixture
def launch(started):
    def get(level):
        if level not in started:
            pytest.skip(f"this machine has no {level}")
        return started[level]

    return get


def tried(launcher, name, arguments, without=()):
    launcher.without = sorted(without)
    worker = load_probe(launcher)
    try:
        return attempt(worker, name, probe_functions()[name], arguments)
    finally:
        worker.end()
        launcher.without = []


@pytest.mark.parametrize("level", list(TABLES))
def test_nothing_that_matters_is_possible(launch, baited, level):
    worker = load_probe(launch(level))
    functions = probe_functions().items()
    possible = {
        name for name, function in functions if attempt(worker, name, function, baited).is_possible
    }
    worker.end()
    allowed = KNOWN if level == "limits" else set()
    assert possible <= allowed | (set() if IS_ROOT else {"be_the_same_user"})


@needs_root
@pytest.mark.parametrize(
    ("level", "name"), [(level, name) for level, table in TABLES.items() for name in table]
)
def test_without_its_mechanisms_an_attack_succeeds(launch, baited, level, name):
    found = tried(launch(level), name, baited, TABLES[level][name])
    assert found.is_possible, found.evidence


@needs_root
@pytest.mark.parametrize(("level", "name", "kept"), ENOUGH)
def test_each_of_its_mechanisms_is_enough(launch, baited, level, name, kept):
    launcher = launch(level)
    if kept == "cgroup" and kept not in launcher.start_and_end().held["mechanisms"]:
        pytest.skip("no control group can be made")
    without = set(TABLES[level][name]) - {kept}
    if (name, kept) == ("have_capabilities", "identity"):
        without = {"capabilities"}  # leaving uid 0 gives them up
    found = tried(launcher, name, baited, without)
    assert not found.is_possible, found.evidence


def test_every_mechanism_is_shown_to_be_needed():
    proved = {kept for every in NAMESPACES.values() for kept in every}
    # Without its own mounts a worker has no file system of its own.
    assert proved | {"mount namespace"} == set(MECHANISMS)


@needs_root
def test_an_unprivileged_user_is_shut_in_as_well():
    """As nobody, in a process of its own: namespaces, and without them."""
    python = python_for_everybody()
    script = (
        "import json, sys, dataclasses\n"
        "from grader.worker.client import ForkLauncher\n"
        "from grader.worker.doctor import examine\n"
        "for level in ('namespaces', 'limits'):\n"
        "    with ForkLauncher(level) as launcher:\n"
        "        found = examine(launcher)\n"
        "        print(json.dumps([found.isolation, [a.name for a in found.attempts],"
        " [a.name for a in found.attempts if a.is_possible]]))\n"
    )
    ran = subprocess.run(
        [python, "-c", script], env=environment(ROOT), cwd="/", user=65534, group=65534,
        extra_groups=[], capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "cannot be shut in" in ran.stderr:
        pytest.skip(ran.stderr.splitlines()[-1])
    assert ran.returncode == 0, ran.stderr
    for line, allowed in zip(ran.stdout.splitlines(), (set(), KNOWN), strict=True):
        _, attempted, possible = json.loads(line)
        assert len(attempted) == len(probe_functions())
        assert set(possible) <= allowed | {"be_the_same_user"}


@pytest.mark.parametrize("level", list(TABLES))
def test_the_examination_says_what_holds(launch, level):
    found = examine(launch(level))
    assert found.isolation == level
    assert {"landlock", "seccomp", "limits", "capabilities"} <= found.mechanisms.keys()
    assert [a.name for a in found.attempts] == list(probe_functions())
    assert 0 < found.start_seconds < 30
