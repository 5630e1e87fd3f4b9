"""Sets mode and times of library files (to the values they have), and leaves canaries beside them, to show that the shared installation can be changed."""
import json, os, site, sysconfig, torch
for path in (torch.__file__, json.__file__, os.__file__, __file__ if "__file__" in globals() else "."):
    for name, f in (("chmod", lambda s: os.chmod(path, s.st_mode & 0o7777)), ("utime", lambda s: os.utime(path, ns=(s.st_atime_ns, s.st_mtime_ns))),
                    ("open", lambda s: os.close(os.open(path, os.O_RDWR))), ("chown", lambda s: os.chown(path, s.st_uid, s.st_gid))):
        try:
            f(os.stat(path))
            print("MAY", name, path)
        except (OSError, TypeError) as e:
            print(name, path, e)
for folder in {sysconfig.get_path("purelib"), *site.getsitepackages()}:
    try:
        if folder.endswith(("site-packages", "dist-packages")):
            open(folder + "/grader-canary-touch_library_files.txt", "x").write("x")
    except OSError as e:
        print(e)
