output "id" {
  description = "Number of the firewall, for the servers behind it."
  value       = hcloud_firewall.wall.id
}
