# The cloud-init of a machine, whatever it is for: who gets in, what is installed, and
# which runner it is. Nothing in it is a secret. JSON is YAML, and needs no other rules for what may
# be in a text.

locals {
  files     = "${path.module}/../../files"
  templates = "${path.module}/../../templates"

  measures = var.part == "run"
  open     = length(var.ssh_keys) > 0
  account  = local.measures ? "runner" : "nightshift"
  # Its parent is root's: the account cannot put another folder in its place.
  place = "/opt/nightshift-actions"

  users = concat(
    [for name in local.measures ? ["runner"] : [] : { name = name, lock_passwd = true, shell = "/bin/bash" }],
    [for name in local.measures ? [] : ["nightshift"] : {
      name = name, lock_passwd = true, shell = "/usr/sbin/nologin", system = true, homedir = "/var/lib/nightshift", no_create_home = true
    }],
    [for keys in local.open ? [values(var.ssh_keys)] : [] : {
      name = "admin", lock_passwd = true, shell = "/bin/bash", sudo = "ALL=(ALL) NOPASSWD:ALL", ssh_authorized_keys = keys
    }],
  )

  packages = concat(
    ["ca-certificates", "curl", "nftables"],
    var.nightshift == null ? [] : ["git", "python3-venv"],
    local.open ? ["sudo"] : [],
  )

  # What Debian does by itself now and then is done while nobody measures, which on a bench is never.
  asleep = compact(split("\n", file("${local.files}/asleep")))

  written = merge(
    {
      "/etc/nftables.conf" = {
        permissions = "0644"
        content     = templatefile("${local.templates}/nftables.conf.tftpl", { rules = var.rules })
      }
    },
    !local.open ? {} : {
      "/etc/ssh/sshd_config.d/10-nightshift.conf" = { permissions = "0644", content = file("${local.files}/sshd.conf") }
    },
    !local.measures ? {} : {
      "/etc/sysctl.d/90-nightshift.conf" = { permissions = "0644", content = file("${local.files}/sysctl.conf") }
      "/etc/tmpfiles.d/nightshift.conf"  = { permissions = "0644", content = file("${local.files}/tmpfiles.conf") }
    },
    var.nightshift == null ? {} : {
      "/usr/local/sbin/nightshift-install" = { permissions = "0755", content = file("${local.files}/nightshift-install") }
      "/etc/nightshift/source.env" = {
        permissions = "0644"
        content     = "REPOSITORY='${var.nightshift.repository}'\nREVISION='${var.nightshift.revision}'\nPART=${var.part}\n"
      }
    },
    !local.measures || var.nightshift == null ? {} : {
      "/etc/systemd/system/nightshift-tune.service" = { permissions = "0644", content = file("${local.files}/nightshift-tune.service") }
    },
    var.enrol == null || var.runner_program == null ? {} : {
      "/usr/local/sbin/nightshift-enrol" = { permissions = "0755", content = file("${local.files}/nightshift-enrol") }
      "/etc/systemd/system/nightshift-actions.service" = {
        permissions = "0644"
        content     = templatefile("${local.templates}/nightshift-actions.service.tftpl", { account = local.account, place = local.place })
      }
      "/etc/nightshift/actions.env" = {
        permissions = "0644"
        content     = join("", [for line in var.enrol.settings : "${line}\n"])
      }
      "/etc/nightshift/enrol.env" = {
        permissions = "0644"
        content = templatefile("${local.templates}/enrol.env.tftpl", {
          program = var.runner_program, url = "${var.enrol.github_url}/${var.enrol.repository}",
          name    = var.enrol.name, labels = var.enrol.labels, account = local.account, place = local.place
        })
      }
    },
    var.files,
  )

  cloud_config = {
    disable_root   = true
    ssh_pwauth     = false
    users          = local.users
    package_update = true
    packages       = sort(distinct(concat(local.packages, var.packages)))
    write_files = [
      for path, file in local.written :
      { path = path, content = file.content, permissions = file.permissions, owner = "root:root" }
    ]
    runcmd = concat(
      [
        ["passwd", "--lock", "root"],
        ["systemctl", "enable", "nftables.service"],
        ["systemctl", "restart", "nftables.service"],
      ],
      local.open ? [["systemctl", "restart", "ssh.service"]] : [["systemctl", "disable", "--now", "ssh.service", "ssh.socket"]],
      !local.measures ? [] : [
        concat(["systemctl", "mask", "--now"], local.asleep),
        ["sysctl", "--quiet", "--load", "/etc/sysctl.d/90-nightshift.conf"],
        ["systemd-tmpfiles", "--create", "/etc/tmpfiles.d/nightshift.conf"],
      ],
      var.before_install,
      var.nightshift == null ? [] : [["nightshift-install"]],
      !local.measures || var.nightshift == null ? [] : [["systemctl", "enable", "--now", "nightshift-tune.service"]],
      var.at_last,
    )
  }
}
