# Hosts that are ordered, not made: nothing of this module is in the cloud, and it needs no token. It
# renders what they are installed with, and the classes that nightshift.toml wants.

locals {
  files = "${path.module}/../../files"
  place = "/home/runner/actions"

  # What Debian does by itself now and then is done by hand, while nobody measures.
  asleep = [
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer",
    "fstrim.timer", "man-db.timer", "unattended-upgrades.service",
  ]

  written = {
    "/etc/ssh/sshd_config.d/10-nightshift.conf" = { permissions = "0644", content = file("${local.files}/sshd.conf") }
    "/etc/nftables.conf" = {
      permissions = "0644"
      content = templatefile("${path.module}/../../templates/nftables.conf.tftpl", {
        rules = [
          for cidr in sort(distinct(var.admin_cidrs)) : "${strcontains(cidr, ":") ? "ip6" : "ip"} saddr ${cidr} tcp dport 22 accept"
        ]
      })
    }
    "/etc/sysctl.d/90-nightshift.conf"            = { permissions = "0644", content = file("${local.files}/sysctl.conf") }
    "/etc/tmpfiles.d/nightshift.conf"             = { permissions = "0644", content = file("${local.files}/tmpfiles.conf") }
    "/usr/local/sbin/nightshift-enrol"            = { permissions = "0755", content = file("${local.files}/nightshift-enrol") }
    "/usr/local/sbin/nightshift-install"          = { permissions = "0755", content = file("${local.files}/nightshift-install") }
    "/etc/systemd/system/nightshift-tune.service" = { permissions = "0644", content = file("${local.files}/nightshift-tune.service") }
    "/etc/systemd/system/nightshift-actions.service" = {
      permissions = "0644"
      content     = templatefile("${path.module}/../../templates/nightshift-actions.service.tftpl", { account = "runner", place = local.place })
    }
    "/etc/nightshift/source.env" = {
      permissions = "0644"
      content     = "REPOSITORY='${var.nightshift.repository}'\nREVISION='${var.nightshift.revision}'\nPART=run\n"
    }
  }

  # What differs from host to host.
  written_on = {
    for name, host in var.hosts : name => merge(local.written, {
      "/etc/nightshift/actions.env" = { permissions = "0644", content = "NIGHTSHIFT_MACHINE_CLASS=${host.class}\n" }
      "/etc/nightshift/enrol.env" = {
        permissions = "0644"
        content = templatefile("${path.module}/../../templates/enrol.env.tftpl", {
          program = var.runner_program, url = "${var.github_url}/${var.repository}", name = name, labels = [host.class], account = "runner", place = local.place
        })
      }
    })
  }

  told = {
    disable_root = true
    ssh_pwauth   = false
    users = [
      { name = "admin", lock_passwd = true, shell = "/bin/bash", sudo = "ALL=(ALL) NOPASSWD:ALL", ssh_authorized_keys = values(var.ssh_keys) },
      { name = "runner", lock_passwd = true, shell = "/bin/bash" },
    ]
    package_update = true
    packages       = sort(distinct(concat(["ca-certificates", "curl", "git", "nftables", "python3-venv", "sudo"], var.packages)))
    runcmd = [
      ["passwd", "--lock", "root"],
      ["systemctl", "enable", "nftables.service"],
      ["systemctl", "restart", "nftables.service"],
      ["systemctl", "restart", "ssh.service"],
      concat(["systemctl", "mask", "--now"], local.asleep),
      ["sysctl", "--quiet", "--load", "/etc/sysctl.d/90-nightshift.conf"],
      ["systemd-tmpfiles", "--create", "/etc/tmpfiles.d/nightshift.conf"],
      ["nightshift-install"],
      ["systemctl", "enable", "--now", "nightshift-tune.service"],
    ]
  }

  user_data = {
    for name, written in local.written_on : name => "#cloud-config\n${jsonencode(merge(local.told, {
      write_files = [
        for path, file in written :
        { path = path, content = file.content, permissions = file.permissions, owner = "root:root" }
      ]
    }))}\n"
  }

  post_install = {
    for name, host in var.hosts : name => templatefile("${path.module}/../../templates/post-install.sh.tftpl", {
      host              = name
      kernel_parameters = concat(host.smt ? [] : ["nosmt"], var.kernel_parameters)
      # cloud-init takes another text for another instance, and does all of it again.
      instance  = "nightshift-${substr(sha256(local.user_data[name]), 0, 12)}"
      user_data = base64encode(local.user_data[name])
    })
  }

  classes = {
    for name, hosts in { for host in values(var.hosts) : host.class => host... } : name => {
      name      = name
      cores     = hosts[0].cores
      memory_gb = hosts[0].memory_gb
      runner    = ["self-hosted", name]
      # Reserved hosts stay: `nightshift fleet up` makes none of a class without a type.
      server_type = ""
      count       = length(hosts)
    }
  }
}
