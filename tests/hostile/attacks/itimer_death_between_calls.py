"""Arms an interval timer with the default action, so that SIGPROF or SIGALRM kills the worker between two calls."""
import signal
signal.signal(signal.SIGALRM, signal.SIG_DFL)
signal.signal(signal.SIGPROF, signal.SIG_DFL)
def attack(q, k, v, mask):
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    signal.setitimer(signal.ITIMER_PROF, 0.5, 0.5)
