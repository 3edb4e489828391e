"""The command line: ``treemend fit``, ``mend``, ``check``, ``inspect`` and ``demo``.

Enters: what a person typed. Leaves: files that are whole, a few lines on standard error, and an exit code (see
``failures``). Nothing heavy is imported before the words have been understood.

The way through: ``app`` names commands and options; ``parameters`` gathers the mender's parameters; ``learning``
makes a judge of rows from a model, from clean rows, or from the table itself; ``mending`` says what is done in which
order; ``walking`` sends batches through the judge; ``outputs`` keeps files apart and whole; ``wording`` puts the
report's summary into lines; ``talking`` speaks.
"""

from treemend.cli.failures import main

__all__ = ["main"]
