# The servers of one night: those of each machine class that is due. The job provision of nightly.yml
# applies it with what `nightshift fleet quote --variables` writes, and teardown destroys it.

module "bench" {
  source   = "../../modules/bench"
  for_each = var.classes

  pipeline              = var.pipeline
  night                 = var.night
  expires               = var.expires
  machine_class         = each.key
  server_type           = each.value.server_type
  server_count          = each.value.server_count
  location              = each.value.location
  cores                 = each.value.cores
  memory_gb             = each.value.memory_gb
  image                 = var.image
  packages              = var.packages
  project_keys          = var.project_keys
  runner_labels         = each.value.runner_labels
  runner_program        = var.runner_program
  runner_configurations = lookup(var.runner_configurations, each.key, [])
}
