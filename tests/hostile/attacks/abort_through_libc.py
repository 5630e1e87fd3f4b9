"""Calls abort() of libc in a call, after replacing the SIGABRT handler, to leave a core dump and an odd status."""
import ctypes, resource, signal
signal.signal(signal.SIGABRT, signal.SIG_DFL)
try:
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
except Exception as e:
    print("core limit", e)
def attack(q, k, v, mask):
    ctypes.CDLL(None).abort()
