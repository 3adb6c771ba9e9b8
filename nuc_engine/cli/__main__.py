"""`python -m nuc_engine.cli` is `nuc`."""

from nuc_engine.cli import main

main()
