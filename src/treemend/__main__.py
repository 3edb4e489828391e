"""``python -m treemend`` is the command line."""

from treemend.cli import main

if __name__ == "__main__":
    main()
