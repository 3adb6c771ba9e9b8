"""Many bouts: on all cores or on a cluster, with what was seen in each as one row of a table.

    pool        a function over many items, on worker processes
    cluster     the same on a Dask cluster
    scratch     where files are that nobody keeps
    watch       a bout that is looked at without being written
    kit         a configuration and a script, as they were when a sweep began
    task        one bout of many, and its row
    axes        what is varied, over which values, and how points are drawn
    plan        a whole sweep, checked before its first bout
    journal     the rows so far, on disk, whatever happens
    table       the rows as one Parquet or CSV file
    sweep       all of this together
    criterion   what makes a bout a good one, and how good
    tune        values found by an optimiser
    changeset   scripts with parts of a changeset taken out, or with two changesets in the other order
    minimise    which entries of a changeset it needs
    commute     which changesets may come in either order

The command line over it is `nuc sweep`, `nuc tune` and `nuc minimise`; docs/bulk.md explains them.
"""
