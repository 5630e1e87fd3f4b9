"""Reads cgroup, mount, limit and machine files, and tests whether its own limits could be opened for writing."""
import os
names = ["cgroup", "mountinfo", "limits", "status", "uid_map", "oom_score_adj", "net/tcp", "net/unix"]
for n in names:
    try:
        print(n, open("/proc/self/" + n).read(600))
    except OSError as e:
        print(n, e)
for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"):
    for f in ("memory.max", "pids.max", "cgroup.procs", "cgroup.kill", "memory.limit_in_bytes"):
        try:
            os.close(os.open(f"{root}/{f}", os.O_WRONLY))
            print("could write", root, f)
        except OSError as e:
            print(root, f, e.strerror)
try:
    print("oom", open("/proc/self/oom_score_adj", "w").write("-900"))
except OSError as e:
    print(e)
