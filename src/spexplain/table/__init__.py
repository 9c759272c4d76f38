"""Tables and labels as users pass them, checked once, wherever their values are stored.

Everything enters through `read.read_table` and `read.read_rows`; all other code works with the `base.Table`
that they return. `reference.Reference` holds the labels. Only engines and graphs for a device or partitions
ask where values are stored, with `storage.engine_of`.
"""
