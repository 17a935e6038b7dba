"""An upgrade, tried: a database that an earlier version filled, migrated and used by this one."""
