# A trial from a laptop, of one server: to measure on, or to look at. The cheapest there is.

module "bench" {
  source = "../../modules/bench"
  count  = var.trial == "bench" ? 1 : 0

  night         = var.night
  ttl           = var.ttl
  machine_class = var.bench_type
  server_type   = var.bench_type
  location      = var.location
  nightshift    = var.nightshift
  admin_cidrs   = var.admin_cidrs
  ssh_keys      = var.ssh_keys
}

module "hub" {
  source = "../../modules/hub"
  count  = var.trial == "hub" ? 1 : 0

  repository  = var.repository
  nightshift  = var.nightshift
  server_type = var.hub_type
  location    = var.location
  volume_gb   = 10
  backups     = false
  admin_cidrs = var.admin_cidrs
  ssh_keys    = var.ssh_keys
}
