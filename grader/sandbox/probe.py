"""What a worker can do in spite of its sandbox: run inside one, like a submission.

Each function tries one thing and returns, in a few words, that it was possible; where it is not,
an exception comes out. Nothing is harmed: signals are number 0, and what is written is removed.
`grader doctor` runs all of them; a test leaves mechanisms out and sees what each of them stops.
"""

import ctypes
import mmap
import os
import resource
import socket
import tempfile
import threading
import time
from contextlib import closing

LIBC = ctypes.CDLL(None, use_errno=True)
VSOCK = 40
TOO_MUCH = 6 * 2**30  # bytes
MANY_THREADS = 75
EFAULT, ENOENT = 14, 2


def read_a_file(path: str) -> str:
    """Read a file of the machine."""
    with open(path, "rb") as file:
        return f"{len(file.read(64))} bytes of {path}"


def list_a_folder(folder: str) -> str:
    """List a folder of the machine."""
    return f"{len(os.listdir(folder))} entries of {folder}"


def write_a_file(folder: str) -> str:
    """Write a file outside its own folder."""
    handle, name = tempfile.mkstemp(prefix="grader-probe-", dir=folder)
    os.close(handle)
    os.unlink(name)
    return f"wrote {name}"


def change_a_file(path: str) -> str:
    """Change whose a file is, or when it was changed, without opening it."""
    status = os.stat(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return f"set the times of {path}"


def see_a_process(pid: int) -> str:
    """See another process."""
    return f"process {pid} is in group {os.getpgid(pid)}"


def signal_a_process(pid: int) -> str:
    """Send another process a signal."""
    os.kill(pid, 0)
    return f"may signal {pid}"


def read_the_memory_of_a_process(pid: int) -> str:
    """Read another process's memory."""
    buffer = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    number = {"x86_64": 310, "aarch64": 270}[os.uname().machine]
    got = LIBC.syscall(
        number, pid, local, ctypes.c_ulong(1), remote, ctypes.c_ulong(1), ctypes.c_ulong(0)
    )
    # Its memory may lie elsewhere; an error that says so shows that it might be read.
    if got < 0 and ctypes.get_errno() != EFAULT:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"may read the memory of {pid}"


def start_a_process() -> str:
    """Start a process."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "forked"


def run_a_program() -> str:
    """Run a program."""
    LIBC.execve(b"/nowhere/at/all", None, None)
    error = ctypes.get_errno()
    if error != ENOENT:  # what is allowed fails because there is no such program
        raise OSError(error, os.strerror(error))
    return "may execute programs"


def connect_to(port: int) -> str:
    """Connect to a port of the machine."""
    with closing(socket.create_connection(("127.0.0.1", port), 2)):
        return f"connected to port {port}"


def send_a_datagram_to(datagrams: int) -> str:
    """Send a datagram to a port of the machine; something has to come back."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
        sock.settimeout(2)
        sock.connect(("127.0.0.1", datagrams))
        sock.send(b"x")
        return f"{len(sock.recv(1))} byte back from port {datagrams}"


def open_a_socket_to_the_host() -> str:
    """Open a socket that no network namespace bounds."""
    with closing(socket.socket(VSOCK, socket.SOCK_STREAM)):
        return "opened a socket of the virtual machine's host"


def use_shared_memory(key: int) -> str:
    """Reach shared memory of the machine by its key."""
    identifier = LIBC.shmget(key, 0, 0)
    if identifier < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"found shared memory {identifier}"


def use_other_descriptors() -> str:
    """Use a descriptor that it was not given."""
    for number in range(4, 256):
        try:
            os.fstat(number)
        except OSError:
            continue
        return f"descriptor {number} is open"
    raise OSError("only standard streams and its own socket are open")


def be_the_same_user(user: int) -> str:
    """Be the user who grades."""
    if os.getuid() != user:
        raise OSError(f"its user id is {os.getuid()}")
    return f"user id {user}"


def have_capabilities() -> str:
    """Have privileges, though not those of a user."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    if LIBC.capget(header, data):
        raise OSError(ctypes.get_errno(), "capget")
    if not (data[0] or data[1] or data[3] or data[4]):
        raise OSError("it has none")
    return f"capabilities {data[4]:08x}{data[1]:08x}"


def gain_privileges() -> str:
    """Gain privileges by a program that gives them."""
    if LIBC.prctl(39, 0, 0, 0, 0):
        raise OSError("no_new_privs is set")
    return "a setuid program would count"


def change_the_host_name(name: str) -> str:
    """Change the machine's name."""
    if os.uname().nodename != name:
        raise OSError("it has a name of its own")
    if LIBC.sethostname(name.encode(), len(name.encode())):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "set the host's name to what it is"


def know_the_host_name(name: str) -> str:
    """Know the machine's name."""
    if os.uname().nodename != name:
        raise OSError(f"the name is {os.uname().nodename}")
    return name


def know_its_control_group() -> str:
    """Know where among the machine's control groups it is."""
    with open("/proc/self/cgroup") as file:
        lines = [line.strip().split(":", 2)[2] for line in file]
    if all(line == "/" for line in lines):
        raise OSError("it is at the top")
    return max(lines, key=len)


def take_much_memory() -> str:
    """Take 6 GB of memory."""
    mmap.mmap(-1, TOO_MUCH).close()
    return "6 GB"


def start_many_threads() -> str:
    """Start 75 threads."""
    threading.stack_size(65536)
    stop = threading.Event()
    begun = 0
    try:
        for _ in range(MANY_THREADS):
            threading.Thread(target=stop.wait, daemon=True).start()
            begun += 1
    except RuntimeError:
        raise OSError(f"no more than {begun}") from None
    finally:
        stop.set()
        time.sleep(0.1)
    return f"{begun} threads"


def write_a_core() -> str:
    """Leave a core file when it crashes."""
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        raise OSError("the limit is 0")
    return "no limit"
