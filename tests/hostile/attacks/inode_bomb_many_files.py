"""Creates 60,000 empty files and hard links with hostile names, to use up inodes and choke whatever lists or cleans the folder."""
import os, tempfile
folder = tempfile.mkdtemp()
names = ["-rf", "a\nb", "\x1b[2J", "..." , "caf\udce9", " ", "*", "x" * 255]
made = 0
try:
    for i in range(60000):
        open(os.path.join(folder, names[i] if i < len(names) else f"{i:06d}"), "w").close()
        made += 1
        if i % 100 == 0:
            os.link(os.path.join(folder, "*" if i > 8 else "-rf"), os.path.join(folder, f"l{i}"))
except OSError as e:
    print(e)
print("files", made)
