from .core import attend
