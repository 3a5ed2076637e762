# A hub, and two CCX for the nights.
size      = "small-team"
hub_type  = "cx33"
volume_gb = 50
benches   = { ccx33 = 2 }
per_night = "5 EUR"
per_month = "60 EUR"
