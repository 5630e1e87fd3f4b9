"""Replaces sys.stdout, sys.stderr and the hooks by objects whose write exits, whose flush raises and whose encoding lies."""
import sys


class Hostile:
    encoding, errors, closed, buffer = "utf-7", "surrogatepass", False, None
    writes = 0

    def write(self, text):
        Hostile.writes += 1
        if Hostile.writes > 50:
            raise SystemExit(0)
        return -1

    def flush(self):
        raise RuntimeError("::error::all tests passed")

    def fileno(self):
        return 3

    def __getattr__(self, name):
        return self


sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Hostile()
sys.displayhook = sys.excepthook = sys.unraisablehook = lambda *a: sys.exit(0)
