"""Many bouts: sweeps, tuning, minimising, on processes here or on a cluster.

    axes         what a sweep varies
    changeset    scripts with something about them changed
    commute      which changesets of a script may come in either order
    criterion    what makes a bout a good one, how good, and how sure a share of few bouts is
    dataset      the logs of many episodes as one file, split by episode and reference, and its card
    episodes     many episodes of RunConfigs: one row each
    errors       what keeps a sweep, a tuning or a test of changesets from running
    inputs       a configuration and a script, as bytes
    journal      the rows of a sweep so far, in a folder beside the file they will become
    minimise     which entries of a changeset it needs
    plan         a whole sweep, checked before its first bout
    pool         a function over many items, on worker processes or a Dask cluster
    request      a sweep as a TOML file
    scratch      folders for bouts nobody keeps
    surrogates   surrogates from datasets and RunConfigs, into folders
    sweep        a sweep from its plan to one table
    table        rows as one file, Parquet or CSV by its name
    task         one bout of many
    tune         values found by an optimiser
    watch        a bout nobody keeps

The command line over it is `nuc sweep`, `nuc tune` and `nuc minimise`; docs/bulk.md explains them.
"""
