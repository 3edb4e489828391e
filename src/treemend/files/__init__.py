"""Tables in files: read in batches, and written so that what was not replaced stays as it was.

::

    paths -- formats -- csv, arrow -- Batch -- values to look at, rows as they stood
                                        |
    path  -- formats -- writers - write(batch, filled, mask)

``table`` makes one table of several files, chooses columns by ``recognition`` and opens writers. Everything but NPZ is
read and written in batches; the same table can be read more than once, and untouched bytes of text files stay.
"""
