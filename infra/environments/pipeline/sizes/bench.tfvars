# A trial: one bench to measure on by hand, which the reaper deletes after ttl if one runs, and
# terraform destroy at any time.
size      = "bench"
benches   = { ccx13 = 1 }
per_night = ""
per_month = ""
