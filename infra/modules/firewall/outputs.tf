output "id" {
  description = "Number of the firewall, for the servers behind it."
  value       = hcloud_firewall.wall.id
}

output "rules" {
  description = "Who is let in, and where; none lets nobody in."
  value       = hcloud_firewall.wall.rule
}
