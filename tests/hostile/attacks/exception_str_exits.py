"""Raises an error whose __str__, __repr__ and traceback end the process while the worker formats it."""
import os
class Landmine(Exception):
    def __str__(self):
        os._exit(0)
    __repr__ = __str__
    @property
    def __cause__(self):
        os._exit(0)
    @property
    def args(self):
        os._exit(0)
def attack(q, k, v, mask):
    raise Landmine()
