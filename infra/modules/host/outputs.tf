output "told" {
  description = "What cloud-init is told, as an object."
  value       = local.told
}

output "written" {
  description = "The files that it writes, by their paths: permissions and content."
  value       = local.written
}

output "cloud_init" {
  description = "What cloud-init is told, as its text."
  value       = "#cloud-config\n${jsonencode(local.told)}\n"
}
