# The cloud-init of a server: nobody gets in, jobs run as a user without rights, and nothing in it is
# a secret but the runners' configurations, each of which is good for one job.

locals {
  files = "${path.module}/../../files"

  jobs  = nonsensitive(length(var.runner_configurations)) > 0
  trial = length(var.admin_cidrs) > 0

  # The configurations of the runners are in this text alone, of which the state keeps a hash.
  user_data = [
    for number in range(var.server_count) : "#cloud-config\n${jsonencode(merge(module.host.cloud_config, {
      write_files = concat(module.host.cloud_config.write_files, [
        for job, configuration in try(var.runner_configurations[number], []) : {
          path = "/etc/nightshift/jobs/${job + 1}", content = configuration, permissions = "0600", owner = "root:root"
        }
      ])
    }))}\n"
  ]
}

module "host" {
  source = "../host"

  part           = "run"
  nightshift     = var.nightshift
  ssh_keys       = local.trial ? var.ssh_keys : {}
  rules          = local.trial ? ["tcp dport 22 accept"] : []
  runner_program = var.runner_program
  packages       = var.packages

  files = !local.jobs ? {} : {
    "/usr/local/sbin/nightshift-runner"             = { permissions = "0700", content = file("${local.files}/nightshift-runner") }
    "/usr/local/sbin/nightshift-job"                = { permissions = "0700", content = file("${local.files}/nightshift-job") }
    "/etc/systemd/system/nightshift-runner.service" = { permissions = "0644", content = file("${local.files}/nightshift-runner.service") }
    "/etc/nightshift/runner.env" = {
      permissions = "0600"
      content = join("", [
        "URL='${try(var.runner_program.url, "")}'\n",
        "SHA256='${try(var.runner_program.sha256, "")}'\n",
        "CLASS='${var.machine_class}'\n",
      ])
    }
  }
  at_last = local.jobs ? [["systemctl", "start", "nightshift-runner.service"]] : []
}
