# A trial: one hub with Prometheus and Grafana, without backups.
size      = "hub"
hub_type  = "cx23"
volume_gb = 10
per_night = ""
per_month = ""
