# What a server is told when it is made, by the decisions of pipeline/fleet/user_data.py: nobody gets
# in, jobs run as a user without rights, and nothing in it is a secret but the runners'
# configurations, each of which is good for one job. JSON is YAML, and needs no other rules for what
# may be in a text.

locals {
  files = "${path.module}/../../files"

  jobs  = nonsensitive(length(var.runner_configurations)) > 0
  trial = length(var.admin_cidrs) > 0

  needed = concat(
    ["ca-certificates", "curl", "nftables"],
    var.nightshift == null ? [] : ["git", "python3-venv"],
    local.trial ? ["sudo"] : [],
  )

  # What Debian does by itself now and then is done while nobody measures, which on a bench is never.
  asleep = [
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer",
    "fstrim.timer", "man-db.timer", "unattended-upgrades.service",
  ]

  written = merge(
    {
      "/etc/nftables.conf" = {
        permissions = "0644"
        content = templatefile("${path.module}/../../templates/nftables.conf.tftpl", {
          rules = local.trial ? ["tcp dport 22 accept"] : []
        })
      }
      "/etc/sysctl.d/90-nightshift.conf" = { permissions = "0644", content = file("${local.files}/sysctl.conf") }
      "/etc/tmpfiles.d/nightshift.conf"  = { permissions = "0644", content = file("${local.files}/tmpfiles.conf") }
    },
    !local.jobs ? {} : {
      "/usr/local/sbin/nightshift-runner"             = { permissions = "0700", content = file("${local.files}/nightshift-runner") }
      "/etc/systemd/system/nightshift-runner.service" = { permissions = "0644", content = file("${local.files}/nightshift-runner.service") }
      "/etc/nightshift/runner.env" = {
        permissions = "0600"
        content = join("", [
          "URL='${try(var.runner_program.url, "")}'\n",
          "SHA256='${try(var.runner_program.sha256, "")}'\n",
          "CLASS='${var.machine_class}'\n",
        ])
      }
    },
    var.nightshift == null ? {} : {
      "/usr/local/sbin/nightshift-install"          = { permissions = "0700", content = file("${local.files}/nightshift-install") }
      "/etc/systemd/system/nightshift-tune.service" = { permissions = "0644", content = file("${local.files}/nightshift-tune.service") }
      "/etc/nightshift/source.env" = {
        permissions = "0644"
        content     = "REPOSITORY='${var.nightshift.repository}'\nREVISION='${var.nightshift.revision}'\nPART=run\n"
      }
    },
    !local.trial ? {} : {
      "/etc/ssh/sshd_config.d/10-nightshift.conf" = { permissions = "0644", content = file("${local.files}/sshd.conf") }
    },
  )

  write_files = [
    for path, file in local.written :
    { path = path, content = file.content, permissions = file.permissions, owner = "root:root" }
  ]

  told = {
    disable_root = true
    ssh_pwauth   = false
    users = concat(
      [{ name = "runner", lock_passwd = true, shell = "/bin/bash" }],
      [for keys in local.trial ? [values(var.ssh_keys)] : [] : {
        name = "admin", lock_passwd = true, shell = "/bin/bash", sudo = "ALL=(ALL) NOPASSWD:ALL", ssh_authorized_keys = keys
      }],
    )
    package_update = true
    packages       = sort(distinct(concat(local.needed, var.packages)))
    runcmd = concat(
      [["passwd", "--lock", "root"]],
      local.trial ? [["systemctl", "restart", "ssh.service"]] : [["systemctl", "disable", "--now", "ssh.service", "ssh.socket"]],
      [
        ["systemctl", "enable", "nftables.service"],
        ["systemctl", "restart", "nftables.service"],
        concat(["systemctl", "mask", "--now"], local.asleep),
        ["sysctl", "--quiet", "--load", "/etc/sysctl.d/90-nightshift.conf"],
        ["systemd-tmpfiles", "--create", "/etc/tmpfiles.d/nightshift.conf"],
      ],
      var.nightshift == null ? [] : [
        ["nightshift-install"],
        ["systemctl", "enable", "--now", "nightshift-tune.service"],
      ],
      local.jobs ? [["systemctl", "start", "nightshift-runner.service"]] : [],
    )
  }

  # The configurations of the runners are in this text alone, of which the state keeps a hash.
  user_data = [
    for number in range(var.server_count) : "#cloud-config\n${jsonencode(merge(local.told, {
      write_files = concat(local.write_files, [
        for job, configuration in try(var.runner_configurations[number], []) : {
          path = "/etc/nightshift/jobs/${job + 1}", content = configuration, permissions = "0600", owner = "root:root"
        }
      ])
    }))}\n"
  ]
}
