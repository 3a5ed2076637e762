output "hosts" {
  description = "For each host what it is installed with: autosetup for Hetzner's installer (null elsewhere), the script that the installed system runs before its first boot, what cloud-init does then, and instructions."
  value = {
    for name, host in var.hosts : name => {
      autosetup = host.robot_number == null ? null : templatefile("${path.module}/../../templates/autosetup.tftpl", {
        host = name, drives = host.drives, raid = host.raid, image = var.image
      })
      post_install = local.post_install[name]
      cloud_init   = module.host[name].cloud_init
      instructions = templatefile("${path.module}/../../templates/${host.robot_number == null ? "install" : "reimage"}.md.tftpl", {
        host = name, address = host.address, repository = var.repository, robot_number = host.robot_number
      })
    }
  }
}

output "classes" {
  description = "The machine classes of the hosts, as [[class]] of nightshift.toml has them."
  value       = values(local.classes)
}

output "runner_labels" {
  description = "For each class the labels that its runners have: runs-on of a job."
  value       = { for name, class in local.classes : name => class.runner }
}
