"""``python -m likewise``: the same as the command ``likewise``."""

from likewise.cli import main

if __name__ == "__main__":
    main()
