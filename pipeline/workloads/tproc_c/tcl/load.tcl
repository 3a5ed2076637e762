# Makes HammerDB's schema.

source [file join [file dirname [info script]] common.tcl]

configure tpcc [list count_ware [setting WAREHOUSES] num_vu [setting LOADERS] \
    partition [setting PARTITION]]
buildschema
finish
