output "cloud_config" {
  description = "The cloud-init, as an object."
  value       = local.cloud_config
}

output "written" {
  description = "The files that it writes, by their paths: permissions and content."
  value       = local.written
}

output "cloud_init" {
  description = "The cloud-init, as text."
  value       = "#cloud-config\n${jsonencode(local.cloud_config)}\n"
}
