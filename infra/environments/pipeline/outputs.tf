output "address" {
  description = "Public IPv4 address of the server of a trial, or of the hub: ssh admin@ADDRESS."
  value       = var.size == "bench" ? one(flatten([for bench in module.bench : values(bench.servers)])) : module.hub[0].address
}

output "expires" {
  description = "End of the time to live of a trial bench, in UTC; null otherwise."
  value       = var.size == "bench" ? one([for bench in module.bench : bench.expires]) : null
}

output "hub_tunnel" {
  description = "The command that brings Grafana and Prometheus of the hub to this machine; null without one."
  value       = one(module.hub[*].tunnel)
}

output "hub_labels" {
  description = "Labels of the hub's runner: the input hub of the workflows, and the repository's variable NIGHTSHIFT_HUB."
  value       = jsonencode(one(module.hub[*].runner_labels))
}

output "hosts" {
  description = "What each dedicated host is installed with, and how: autosetup, post_install, cloud_init, instructions."
  value       = merge(module.dedicated[*].hosts...)
}

output "runner_labels" {
  description = "For each machine class the labels of its runners: runs-on of a job."
  value       = merge({ for name, bench in module.bench : name => bench.runner_labels }, module.dedicated[*].runner_labels...)
}

output "nightshift_toml" {
  description = "The fleet and its classes as tables of nightshift.toml, for `nightshift plan` and `nightshift fleet`."
  value = templatefile("${path.module}/../../templates/nightshift.toml.tftpl", {
    repository = var.repository
    pipeline   = var.pipeline
    locations  = var.locations
    image      = "debian-12"
    per_night  = var.per_night
    per_month  = var.per_month
    classes    = concat([for bench in module.bench : bench.class], module.dedicated[*].classes...)
  })
}
