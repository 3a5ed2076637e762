# One hub, and a class of benches with processors of their own, which are there for a night.

locals {
  slug = trim(replace(lower(var.pipeline), "/[^a-z0-9]+/", "-"), "-")
}

module "network" {
  source = "../../modules/network"

  pipeline = var.pipeline
  name     = local.slug
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

# The class alone: nights make its servers, by environments/night.
module "bench" {
  source = "../../modules/bench"

  pipeline      = var.pipeline
  machine_class = var.bench_type
  server_type   = var.bench_type
  server_count  = var.bench_count
}
