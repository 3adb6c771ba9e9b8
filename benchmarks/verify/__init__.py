"""What `nuc verify` finds: bouts of every kind, which must be as computed, and mutants of the engine, which must not.

mutants   one token of the engine changed: which tokens, and what becomes of the module
trial     one mutant, in a process of its own: do its bouts differ, and does `nuc verify` say so
__main__  the whole matrix of bouts, a hundred mutants, the table in benchmarks/VERIFY.md
"""
