# Runs HammerDB's timed driver: ramp-up and duration are in minutes.

source [file join [file dirname [info script]] common.tcl]

connect "{}"
configure tpcc [list driver timed rampup [setting RAMPUP] duration [setting DURATION] \
    allwarehouse true keyandthink false timeprofile false]
loadscript
vuset vu [setting USERS]
vuset logtotemp 0
vucreate
vurun
finish
