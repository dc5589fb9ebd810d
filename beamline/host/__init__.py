"""Pulumi's language host for Python, for machines that do not have the official ``pulumi-language-python``.

The official host is a Go program that no package registry carries. This one does what a program needs: it runs it in
a subprocess. It neither makes virtual environments nor installs anything; the interpreter that runs the host runs the
program. Executed as ``python -m beamline.host ENGINE_ADDRESS`` by a ``pulumi-language-python`` on PATH.
"""
