"""Answers strings, keys and prints with lone surrogates, NULs, ANSI escapes, bidi marks and script tags for the report."""
import sys

calls = [0]
TEXTS = (
    "\ud800\udfff\udc80",
    "\x1b[2J\x1b[H\x1b]0;PASSED\x07\x1b[32m10 passed\x1b[0m\x1b[8m",
    "<script>document.title='100%'</script><img src=x onerror=alert(1)>]]></failure></testcase>",
    "\u202e\u2066dessap\u2069\u0000\r\n" + "\b" * 200,
    "'; DROP TABLE grades; -- {{7*7}} ${7*7} %s%n {0.__class__}",
    "| a | b |\n|---|---|\n# 100 points\n[x](javascript:alert(1)) <!-- ",
    "NaN", "\ufeff", "A\u0301" * 50000,
)


def attack(q, k, v, mask):
    calls[0] += 1
    text = TEXTS[calls[0] % len(TEXTS)]
    try:
        print(text)
        sys.stderr.buffer.write(b"\xff\xfe\x00\xc3(" + text.encode("utf-8", "surrogatepass") + b"\n")
    except Exception:
        pass
    return [text, {text: text}, float("nan"), float("-inf")]
