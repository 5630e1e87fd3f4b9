"""Spends exponential time in one regular expression match at import, where Python code can't be interrupted."""
import re
re.match(r"(a|aa|a?)+(b|c)$", "a" * 64 + "d")
