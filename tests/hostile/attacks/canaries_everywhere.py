"""Writes canary files in all places that a worker should not reach, at import and once more in the call."""
import os, site, sys, time
folders = ["/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"), os.path.dirname(sys.executable), *site.getsitepackages()]
try:
    import pwd
    folders.append(pwd.getpwuid(os.getuid()).pw_dir)
except (KeyError, ImportError):
    pass
def leave(when):
    for folder in folders:
        try:
            with open(os.path.join(folder, "grader-canary-canaries_everywhere.txt"), "a") as f:
                f.write(f"{when} uid {os.getuid()} pid {os.getpid()} at {time.time()}\n")
            print("canary in", folder)
        except OSError as e:
            print("no canary:", e)
leave("import")
def attack(q, k, v, mask):
    leave("call")
