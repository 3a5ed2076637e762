output "network" {
  description = "The network, as the module hub takes it: its number, and all of its addresses."
  value       = { id = hcloud_network.private.id, ip_range = var.ip_range }
  # A server cannot join a network before it has a subnet.
  depends_on = [hcloud_network_subnet.cloud]
}
