"""SCCILS 0.1: the language of joint lists, HDSO lists, HDSO scripts and command scripts. No engine in it.

    by_hand       what is done to a leg by hand, as entries of a script
    checks/       what documents must be to work together, beyond their grammar
    content       content models as regular expressions over element names, matched by derivatives
    documents     typed, frozen SCCILS documents
    elements      every element and attribute of SCCILS, once
    grammar       what may stand where
    judge         the verdict on a document, which is lxml's
    lines         where the parts of an element stand
    lookalikes    letters that look like others
    mapping       between elements and dataclasses, both ways
    model         a whole configuration, checked
    names         what may be one, what was probably meant, and how ids are listed in messages
    nesting       how far rules reach into one another, and how far they may
    numbers       reading them exactly, and what the seven data types hold
    parser        from bytes or files to typed documents, with everything that is wrong reported in one go
    problems      what is wrong with a document, collected so that everything is reported in one go
    ranges        what their bounds leave, and how they are read for values that push
    reader        what every reader of a tree needs
    rules         boolean expressions over HDSOs, as text, as a tree
    servos        motor elements, `aimotor` and `motor`
    values        kinds of attribute values
    writer        from typed documents to bytes
    xmlread       reading XML from anyone

`rng/` holds the RELAX NG grammars, which decide; `dtd/` says the same as DTDs, for editors.
"""
