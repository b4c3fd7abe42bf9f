"""python -m understudy: the program understudy, `capture` included."""

from .programs import main

main()
