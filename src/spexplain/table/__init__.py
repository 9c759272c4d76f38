"""What users bring: tables and labels, checked once, wherever their values lie.

`read.read_table` and `read.read_rows` are the way in; everything else asks the `base.Table` they return.
`reference.Reference` holds the labels. Nothing outside this folder asks where values lie, but engines
and graphs that work on a device or in partitions: `places.engine_of`.
"""
