"""``python -m lowlift`` is ``lowlift``."""

from lowlift._cli import main

if __name__ == "__main__":
    main()
