"""`python -m hibnn`."""

from hibnn.cli import main

main()
