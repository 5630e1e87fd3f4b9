"""Blocks and ignores all signals including SIGXCPU and SIGTERM, swallows every exception and spins for a minute."""
import signal, time
def attack(q, k, v, mask):
    for s in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(s, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            while time.monotonic() < end:
                pass
        except BaseException:
            continue
