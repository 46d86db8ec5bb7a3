"""`python -m casimir`: the command line."""

from casimir.cli import main

main()
