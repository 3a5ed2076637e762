output "servers" {
  description = "Names of the servers, and their public addresses."
  value       = merge([for bench in module.bench : bench.servers]...)
}
