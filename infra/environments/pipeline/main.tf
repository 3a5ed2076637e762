# What stays of a pipeline, by its size: see sizes/. The servers of a night are made by environments/night.

locals {
  slug  = trim(replace(lower(var.pipeline), "/[^a-z0-9]+/", "-"), "-")
  trial = contains(["bench", "hub"], var.size)
}

module "network" {
  source = "../../modules/network"
  count  = local.trial ? 0 : 1

  pipeline = var.pipeline
  name     = local.slug
  vswitch  = var.vswitch
}

module "hub" {
  source = "../../modules/hub"
  count  = var.size == "bench" ? 0 : 1

  pipeline       = var.pipeline
  name           = "${local.slug}-hub"
  repository     = var.repository
  nightshift     = var.nightshift
  runner_program = var.runner_program
  terraform      = var.terraform
  server_type    = var.hub_type
  location       = var.locations[0]
  volume_gb      = var.volume_gb
  backups        = !local.trial
  protected      = var.protected
  network        = one(module.network[*].network)
  admin_cidrs    = var.admin_cidrs
  ssh_keys       = var.ssh_keys
}

# The classes alone, whose servers nights make; of a trial the bench itself.
module "bench" {
  source   = "../../modules/bench"
  for_each = var.benches

  pipeline      = var.pipeline
  night         = var.size == "bench" ? var.night : ""
  ttl           = var.ttl
  machine_class = each.key
  server_type   = each.key
  server_count  = each.value
  location      = var.locations[0]
  nightshift    = var.size == "bench" ? var.nightshift : null
  admin_cidrs   = var.size == "bench" ? var.admin_cidrs : []
  ssh_keys      = var.size == "bench" ? var.ssh_keys : {}
}

module "dedicated" {
  source = "../../modules/dedicated"
  count  = length(var.hosts) == 0 ? 0 : 1

  hosts          = var.hosts
  repository     = var.repository
  nightshift     = var.nightshift
  runner_program = var.runner_program
  admin_cidrs    = var.admin_cidrs
  ssh_keys       = var.ssh_keys
}
