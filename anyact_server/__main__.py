"""`python -m anyact_server`, the same as `anyact`."""

from .cli import main

if __name__ == "__main__":
    main()
