"""``python -m deeplake_lite``: the command line."""

from deeplake_lite.cli import main

if __name__ == "__main__":
    main()
