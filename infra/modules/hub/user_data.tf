# What the hub is told when it is made. No secret is in it: tokens come by SSH, into files that root
# alone reads. JSON is YAML, and needs no other rules for what may be in a text.

locals {
  files = "${path.module}/../../files"
  place = "/opt/nightshift-actions"

  settings = [
    "NIGHTSHIFT_HOME=/var/lib/nightshift",
    "NIGHTSHIFT_CACHE=/var/cache/nightshift",
  ]

  units = [
    "nightshift-home.service", "nightshift-hub.service",
    "nightshift-backup.service", "nightshift-backup.timer", "nightshift-reap.service", "nightshift-reap.timer",
  ]
  scripts = concat(["nightshift-here", "nightshift-install", "nightshift-volume"], var.runner_program == null ? [] : ["nightshift-enrol"])

  written = merge(
    { for name in local.units : "/etc/systemd/system/${name}" => { permissions = "0644", content = file("${local.files}/${name}") } },
    { for name in local.scripts : "/usr/local/sbin/${name}" => { permissions = "0755", content = file("${local.files}/${name}") } },
    {
      "/etc/ssh/sshd_config.d/10-nightshift.conf" = { permissions = "0644", content = file("${local.files}/sshd.conf") }
      "/etc/nftables.conf" = {
        permissions = "0644"
        # Who may come in is said in front, where it can be changed. In a private network nothing
        # stands in front.
        content = templatefile("${path.module}/../../templates/nftables.conf.tftpl", {
          rules = concat(var.network == null ? [] : ["ip saddr ${var.network.ip_range} drop"], ["tcp dport 22 accept"])
        })
      }
      "/etc/apt/apt.conf.d/90-nightshift" = {
        permissions = "0644"
        content     = templatefile("${path.module}/../../templates/unattended-upgrades.conf.tftpl", { reboot_at = var.reboot_at })
      }
      "/etc/nightshift/source.env" = {
        permissions = "0644"
        content     = "REPOSITORY='${var.nightshift.repository}'\nREVISION='${var.nightshift.revision}'\nPART=hub\n"
      }
      "/etc/nightshift/hub.env" = {
        permissions = "0644"
        content     = join("", [for line in concat(local.settings, ["REPOSITORY=${var.repository}"]) : "${line}\n"])
      }
      # To begin with; the operator puts that of the repository in its place.
      "/etc/nightshift/nightshift.toml" = {
        permissions = "0644"
        content     = "[github]\nrepository = ${jsonencode(var.repository)}\n\n[fleet]\nname = ${jsonencode(var.pipeline)}\n"
      }
    },
    var.runner_program == null ? {} : {
      "/etc/systemd/system/nightshift-actions.service" = {
        permissions = "0644"
        content     = templatefile("${path.module}/../../templates/nightshift-actions.service.tftpl", { account = "nightshift", place = local.place })
      }
      "/etc/nightshift/actions.env" = {
        permissions = "0644"
        content     = join("", [for line in local.settings : "${line}\n"])
      }
      "/etc/nightshift/enrol.env" = {
        permissions = "0644"
        content = templatefile("${path.module}/../../templates/enrol.env.tftpl", {
          program = var.runner_program, url = "${var.github_url}/${var.repository}", name = var.name, labels = ["hub"], account = "nightshift", place = local.place
        })
      }
    },
  )

  told = {
    disable_root = true
    ssh_pwauth   = false
    users = [
      { name = "admin", lock_passwd = true, shell = "/bin/bash", sudo = "ALL=(ALL) NOPASSWD:ALL", ssh_authorized_keys = values(var.ssh_keys) },
      { name = "nightshift", lock_passwd = true, shell = "/usr/sbin/nologin", system = true, homedir = "/var/lib/nightshift", no_create_home = true },
    ]
    package_update  = true
    package_upgrade = true
    packages        = ["ca-certificates", "curl", "git", "nftables", "python3-venv", "sudo", "unattended-upgrades"]
    write_files = [
      for path, file in local.written :
      { path = path, content = file.content, permissions = file.permissions, owner = "root:root" }
    ]
    runcmd = [
      ["passwd", "--lock", "root"],
      ["systemctl", "enable", "nftables.service"],
      ["systemctl", "restart", "nftables.service"],
      ["systemctl", "restart", "ssh.service"],
      ["nightshift-volume"],
      ["nightshift-install"],
      ["systemctl", "enable", "--now", "nightshift-hub.service", "nightshift-backup.timer", "nightshift-reap.timer"],
    ]
  }

  user_data = "#cloud-config\n${jsonencode(local.told)}\n"
}
