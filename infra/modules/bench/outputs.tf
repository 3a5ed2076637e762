output "servers" {
  description = "Names of the servers, and their public addresses."
  value       = { for server in hcloud_server.bench : server.name => server.ipv4_address }
}

output "class" {
  description = "The machine class, as [[class]] of nightshift.toml has it."
  value = {
    name        = var.machine_class
    cores       = coalesce(var.cores, try(local.types[var.server_type].cores, null))
    memory_gb   = coalesce(var.memory_gb, try(local.types[var.server_type].memory_gb, null))
    runner      = local.runner_labels
    server_type = var.server_type
    count       = var.server_count
  }
}

output "runner_labels" {
  description = "Labels that the runners have to be registered with: runs-on of a job."
  value       = local.runner_labels
}

output "expires" {
  description = "End of the servers' time to live, in UTC; null without servers."
  value       = local.expires
}

output "cloud_init" {
  description = "The cloud-init of a server, without the configurations of its runners."
  value       = module.host.cloud_init
}
