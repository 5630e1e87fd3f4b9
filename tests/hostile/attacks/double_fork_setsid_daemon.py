"""Leaves a daemon in a session of its own that outlives the worker, writes a canary and keeps the socket open."""
import os, time
if os.fork() == 0:
    try:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        for i in range(25):
            for folder in ("/tmp", "/var/tmp", "/dev/shm"):
                try:
                    with open(folder + "/grader-canary-double_fork_setsid_daemon.txt", "a") as f:
                        f.write(f"alive {i} pid {os.getpid()}\n")
                except OSError:
                    pass
            time.sleep(1)
    finally:
        os._exit(0)
