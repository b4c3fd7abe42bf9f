"""python -m understudy_capture: the command understudy-capture."""

from .command import main

main()
