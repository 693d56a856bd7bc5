"""Run the command line with ``python -m deeplake_lite``."""

from deeplake_lite.cli import main

if __name__ == "__main__":
    main()
