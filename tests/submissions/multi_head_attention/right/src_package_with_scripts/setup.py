from setuptools import setup
setup(name='attn')
