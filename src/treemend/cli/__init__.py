"""The command line: ``treemend fit``, ``mend``, ``check``, ``inspect``, ``demo`` and ``compile``.

``app`` names the commands and ``options`` what they share; ``reference`` makes an estimator of a model file, of clean
rows or of the table itself; ``run`` sends batches of rows through it and into ``outputs``; ``parts`` does so for a
folder, file by file; ``console`` puts what was found into lines; ``errors`` turns errors and signals into exit codes.
Nothing heavy is imported before the command line was understood.
"""

from treemend.cli.errors import main

__all__ = ["main"]
