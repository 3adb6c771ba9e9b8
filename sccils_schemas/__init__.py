"""SCCILS 0.1: the language of joint lists, HDSO lists, HDSO scripts and command scripts. No engine in it.

    documents   the typed, frozen documents            problems   what is wrong, where, and the remedy
    parser      bytes or files to documents            writer     documents to bytes
    xmlread     XML in bounded time and memory         grammar    what may stand where, read from rng/*.rng
    rules       entry rules as text, tree, integers    model      a whole configuration, checked

`rng/` holds the RELAX NG grammars, which decide; `dtd/` the same as DTDs, for editors.
"""
