"""`python -m nuc_engine.cli` is `nuc`."""

from nuc_engine.cli.app import main

main()
