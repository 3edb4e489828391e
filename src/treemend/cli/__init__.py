"""The command line: ``treemend fit``, ``mend``, ``check``, ``inspect``, ``demo`` and ``compile``.

``app`` has the commands and their options; ``reference`` makes an estimator of a model file, of clean rows or of the
table itself; ``run`` sends batches of rows through it and into files, and puts what was found into lines; ``parts``
does so for a folder, file by file; ``errors`` turns errors and signals into exit codes.
"""

from treemend.cli.errors import main

__all__ = ["main"]
