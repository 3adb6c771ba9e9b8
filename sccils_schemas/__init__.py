"""SCCILS 0.1: the language of joint lists, HDSO lists, HDSO scripts and command scripts. No engine in it.

    documents   the typed, frozen documents             by_hand    entries of what is done to a leg by hand
    problems    what is wrong, where, and the remedy
    parser      bytes or files to documents             writer     documents to bytes
    rules       entry rules as text, tree, integers     model      a whole configuration, and scripts on it, checked
    xmlread     XML in bounded time and memory          grammar    what may stand where, read from rng/*.rng
    checks/     what documents must be to work together

`rng/` holds the RELAX NG grammars, which decide; `dtd/` says the same as DTDs, for editors.
"""
