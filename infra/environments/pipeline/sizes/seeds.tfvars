# The classes of the published reports. ccx33: 8 processors and 32 GB, as the small servers; ccx53: 32 and
# 128 GB, as the workstation. Those with 24 and 48 are hosts that stay, as no cloud server has so many cores:
# name them in hosts.
size      = "seeds"
hub_type  = "cx33"
volume_gb = 200
benches   = { ccx33 = 1, ccx53 = 1 }
per_night = "12 EUR"
per_month = "300 EUR"
