# Makes HammerDB's schema.

source [file join [file dirname [info script]] common.tcl]

# Before 5.0 the password becomes part of a script, which takes a pair of braces away.
connect [expr {[info procs quotemeta] eq "" ? "{{}}" : "{}"}]
configure tpcc [list count_ware [setting WAREHOUSES] num_vu [setting LOADERS] \
    partition [setting PARTITION]]
buildschema
finish
