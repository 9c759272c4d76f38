"""Warnings a user may want to catch by name."""


class LeafCountWarning(UserWarning):
    """The tree has fewer leaves than were asked for, because no valid cut was left."""
