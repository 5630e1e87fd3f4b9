"""Raises exceptions and answers objects whose class, module and qualified names and messages are CI workflow commands."""
calls = [0]
COMMANDS = (
    "\n::error file=grader.py,line=1::passed\n",
    "\n::set-output name=score::100\n",
    "\n::add-mask::0\n::stop-commands::grader\n",
    "\n##[set-env name=PATH;]/tmp\n##vso[task.complete result=Succeeded;]done\n",
    "\r::notice title=points::100/100\r",
    "</system-out><testcase name='x'/><!--",
    "\x1b[31m::endgroup::\x1b[0m\ud800",
)


def attack(q, k, v, mask):
    calls[0] += 1
    text = COMMANDS[calls[0] % len(COMMANDS)]
    cls = type("Broken", (Exception,), {"__module__": text, "__qualname__": text, "__doc__": text})
    cls.__name__ = text.replace("\ud800", "?")
    print(text.encode("ascii", "replace").decode())
    if calls[0] % 2:
        error = cls(text)
        error.add_note(text)
        raise error
    return type(text.replace("\ud800", "?"), (), {"__module__": text})()
