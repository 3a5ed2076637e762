output "address" {
  description = "Public IPv4 address of the server: ssh admin@ADDRESS."
  value       = var.trial == "bench" ? one(values(module.bench[0].servers)) : module.hub[0].address
}

output "expires" {
  description = "End of the bench's time to live, in UTC; null for a hub."
  value       = one(module.bench[*].expires)
}
