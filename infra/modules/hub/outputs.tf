output "address" {
  description = "Public IPv4 address of the hub, for SSH."
  value       = hcloud_server.hub.ipv4_address
}

output "tunnel" {
  description = "The command that brings Grafana and Prometheus of the hub to this machine."
  value       = "ssh -N -L 3000:127.0.0.1:3000 -L 9090:127.0.0.1:9090 admin@${hcloud_server.hub.ipv4_address}"
}

output "runner_labels" {
  description = "Labels of the hub's runner: runs-on of the jobs that are trusted."
  value       = ["self-hosted", "hub"]
}

output "volume_id" {
  description = "Number of the volume that holds what is measured."
  value       = hcloud_volume.data.id
}

output "cloud_init" {
  description = "The cloud-init of the hub."
  value       = local.user_data
}
