"""HammerDB's derivative of TPC-C: its steps, its Lua for sysbench, and HammerDB itself."""
