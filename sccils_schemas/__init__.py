"""SCCILS 0.1 and 0.2: the language of joint lists, HDSO lists, HDSO scripts and command scripts. No engine in it.

    by_hand       what is done to a leg by hand, as entries of a script
    checks/       what documents must be to work together, beyond their grammar
    content       content models as regular expressions over element names, matched by derivatives
    documents     typed, frozen SCCILS documents
    elements      every element and attribute of SCCILS, once
    grammar       RELAX NG, walked: what is wrong with a document, in words
    judge         the verdict on a document, which is lxml's
    lines         where the parts of an element stand
    lookalikes    letters that look like others
    mapping       between elements and dataclasses, both ways
    model         a whole configuration, checked
    names         names: what may be one, what was probably meant, how ids are listed
    nesting       how far rules reach into one another, and how far they may
    numbers       numbers: read exactly, by the seven data types
    owners        values that follow a control, or that a module writes
    parser        from bytes or files to typed documents, with everything that is wrong reported in one go
    problems      what is wrong with a document, collected so that everything is reported in one go
    ranges        ranges: what their bounds leave, and how forces are read
    reader        what every reader of a tree needs
    rules         Boolean expressions over HDSOs, as text, as a tree, as codes
    servos        motor elements, `aimotor` and `motor`
    signals       blocks of signal processing: what each takes, and the order in which they are computed
    values        kinds of attribute values: numbers, words, references
    versions      versions of SCCILS: what came after the first
    writer        from typed documents to bytes
    xmlread       XML read from anyone, with lines, within bounds

`rng/` holds the RELAX NG grammars, which decide; `dtd/` says the same as DTDs, for editors.
"""
