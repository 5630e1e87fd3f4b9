from . import heads  # circular
FOO = 1
