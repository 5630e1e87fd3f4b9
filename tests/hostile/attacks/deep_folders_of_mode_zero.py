"""Leaves a folder chain 1,500 deep with symlink loops, links to a bait folder and mode 0 everywhere, to break or mislead a recursive clean-up."""
import os, tempfile
top, bait = tempfile.mkdtemp(dir="."), tempfile.mkdtemp()
open(os.path.join(bait, "grader-canary-must-stay.txt"), "w").close()
fd = os.open(top, os.O_RDONLY)
try:
    for i in range(1500):
        os.mkdir("d" * 40, dir_fd=fd)
        os.symlink("..", "loop", dir_fd=fd)
        os.symlink(bait, "bait", dir_fd=fd)
        new = os.open("d" * 40, os.O_RDONLY, dir_fd=fd)
        os.fchmod(fd, 0)
        os.close(fd)
        fd = new
    os.fchmod(fd, 0)
except OSError as e:
    print("depth", i, e)
os.chmod(top, 0)
