"""Replaces the worker by a shell that keeps fd 3, writes a canary and answers with forged bytes, outside of every Python hook."""
import os, sys
def attack(q, k, v, mask):
    os.set_inheritable(3, True)
    for path, argv in (
        ("/bin/sh", ["sh", "-c", "echo exec >> /tmp/grader-canary-execve_replaces_worker.txt; printf 'TGF1' >&3; sleep 20"]),
        ("/usr/bin/env", ["env", "sh", "-c", "sleep 20"]),
        (sys.executable, [sys.executable, "-c", "import time; time.sleep(20)"]),
        ("/lib64/ld-linux-x86-64.so.2", ["ld.so", "/bin/true"]),
    ):
        try:
            os.execve(path, argv, {"PATH": "/bin:/usr/bin"})
        except OSError as e:
            print("exec", path, e)
