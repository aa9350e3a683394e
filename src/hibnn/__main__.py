"""`python -m hibnn`."""

from hibnn.cli.main import main

main()
