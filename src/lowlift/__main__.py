"""``python -m lowlift`` is ``lowlift``."""

from lowlift.cli import main

if __name__ == "__main__":
    main()
