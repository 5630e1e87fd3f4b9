"""Turns warnings into errors, lowers the recursion limit, and changes decimal context, locale, time zone and int limits."""
import decimal
import locale
import os
import sys
import time
import warnings

warnings.simplefilter("error")
decimal.getcontext().prec = 1
decimal.getcontext().traps[decimal.Inexact] = True
for name in ("de_DE.UTF-8", "tr_TR.UTF-8", "ar_EG.UTF-8", "C"):
    try:
        locale.setlocale(locale.LC_ALL, name)
        break
    except locale.Error:
        pass
os.environ.update(TZ="Asia/Kathmandu", LC_ALL="tr_TR", PYTHONHASHSEED="1", PYTHONWARNINGS="error")
time.tzset()
time.time = time.monotonic = time.perf_counter = lambda: 0.0
sys.set_int_max_str_digits(640)
sys.setswitchinterval(1e-6)


def attack(q, k, v, mask):
    depth = len(__import__("inspect").stack(0))
    sys.setrecursionlimit(depth + 12)
