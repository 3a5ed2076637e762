# The machine classes of the published reports. Those with 8 and 32 processors are cloud servers that are
# there for a night; those with 24 and 48 are hosts that stay, as no cloud server has so many cores.

locals {
  slug = trim(replace(lower(var.pipeline), "/[^a-z0-9]+/", "-"), "-")

  # ccx33: 8 processors and 32 GB, as the small servers; ccx53: 32 and 128 GB, as the workstation.
  cloud_classes = toset(["ccx33", "ccx53"])
}

module "network" {
  source = "../../modules/network"

  pipeline = var.pipeline
  name     = local.slug
  vswitch  = var.vswitch
}

module "hub" {
  source = "../../modules/hub"

  pipeline       = var.pipeline
  name           = "${local.slug}-hub"
  repository     = var.repository
  nightshift     = var.nightshift
  runner_program = var.runner_program
  terraform      = var.terraform
  server_type    = var.hub_type
  location       = var.locations[0]
  volume_gb      = var.volume_gb
  protected      = var.protected
  network        = module.network.network
  admin_cidrs    = var.admin_cidrs
  ssh_keys       = var.ssh_keys
}

# The classes alone: nights make their servers, by environments/night.
module "bench" {
  source   = "../../modules/bench"
  for_each = local.cloud_classes

  pipeline      = var.pipeline
  machine_class = each.key
  server_type   = each.key
  server_count  = var.bench_counts[each.key]
}

module "dedicated" {
  source = "../../modules/dedicated"

  hosts          = var.hosts
  repository     = var.repository
  nightshift     = var.nightshift
  runner_program = var.runner_program
  admin_cidrs    = var.admin_cidrs
  ssh_keys       = var.ssh_keys
}
