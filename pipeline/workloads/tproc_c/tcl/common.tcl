# What load.tcl and run.tcl share. hammerdbcli runs them and gives them its commands; what they
# are to do is in environment variables that begin with NIGHTSHIFT_.

# Who reads it wants to know when the measured time begins.
fconfigure stdout -buffering line

proc setting {name} {
    return $::env(NIGHTSHIFT_$name)
}

# HammerDB has a name of its own for each DBMS, and begins the names of its settings with it.
set dbms [dict get {pgsql pg mysql mysql} [setting DRIVER]]

proc configure {dictionary values} {
    foreach {name value} $values {
        diset $dictionary ${::dbms}_$name $value
    }
}

# The exit code of hammerdbcli says nothing of its virtual users.
set failed 0
rename putscli hammerdb_putscli
proc putscli {text} {
    if {[string match "*FINISHED FAILED*" $text]} {
        set ::failed 1
    }
    hammerdb_putscli $text
}

# Up to 4.5 virtual users run on when the command that starts them returns; later it waits. Where
# one has failed, the others may wait for it for ever.
proc finish {} {
    while {![vucomplete] && !$::failed} {
        after 500 {set ::waited 1}
        vwait ::waited
    }
    exit $::failed
}

# Tells HammerDB the DBMS and how to reach it. `no_password` is how the empty password of MySQL is
# written: HammerDB puts it into a list of words.
proc connect {no_password} {
    dbset db $::dbms
    dbset bm TPC-C
    if {$::dbms eq "pg"} {
        configure connection [list host [setting SOCKET] port [setting PORT]]
        # The server asks for no password, but HammerDB sets one.
        configure tpcc [list superuser [setting USER] superuserpass nightshift user [setting USER] \
            pass nightshift defaultdbase [setting DATABASE] dbase [setting DATABASE] storedprocs true]
    } else {
        # The socket is taken only beside this host.
        configure connection [list host 127.0.0.1 port [setting PORT] socket [setting SOCKET]/socket]
        configure tpcc [list user [setting USER] pass $no_password dbase [setting DATABASE]]
    }
}
