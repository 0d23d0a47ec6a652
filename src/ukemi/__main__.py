"""`python -m ukemi` is `ukemi`."""

from ukemi.cli import main

if __name__ == "__main__":
    main()
