"""Starts a shell by posix_spawn, os.system, popen and subprocess, which writes a canary."""
import os, subprocess, sys
cmd = "echo spawned >> /tmp/grader-canary-posix_spawn_and_subprocess_shell.txt"
tries = [
    lambda: os.posix_spawn("/bin/sh", ["sh", "-c", cmd], dict(PATH="/bin:/usr/bin")),
    lambda: os.system(cmd),
    lambda: os.popen("id; " + cmd).read(),
    lambda: subprocess.run(["sh", "-c", cmd], timeout=5, capture_output=True),
    lambda: subprocess.run([sys.executable, "-c", "print('python runs')"], timeout=10, capture_output=True, close_fds=False),
    lambda: os.spawnv(os.P_NOWAIT, "/bin/sh", ["sh", "-c", cmd]),
]
for t in tries:
    try:
        print("spawn:", t())
    except BaseException as e:
        print("spawn refused:", type(e).__name__, e)
