# The cloud-init of the hub. No secret is in it: tokens come by SSH, into files that root
# alone reads.

locals {
  files = "${path.module}/../../files"

  settings = concat(
    [
      "NIGHTSHIFT_HOME=/var/lib/nightshift",
      "NIGHTSHIFT_CACHE=/var/cache/nightshift",
    ],
    var.terraform == null ? [] : [
      "NIGHTSHIFT_STATE=/etc/nightshift/nights.tfbackend",
      "TF_CLI_ARGS_init=-plugin-dir=/usr/local/lib/nightshift/providers",
    ],
  )

  units = [
    "nightshift-home.service", "nightshift-hub.service",
    "nightshift-backup.service", "nightshift-backup.timer", "nightshift-reap.service", "nightshift-reap.timer",
  ]

  user_data = "#cloud-config\n${jsonencode(merge(module.host.cloud_config, { package_upgrade = true }))}\n"
}

module "host" {
  source = "../host"

  part       = "hub"
  nightshift = var.nightshift
  ssh_keys   = var.ssh_keys
  packages   = ["unattended-upgrades"]
  # Who may come in is said in front, where it can be changed. In a private network nothing stands
  # in front.
  rules          = concat(var.network == null ? [] : ["ip saddr ${var.network.ip_range} drop"], ["tcp dport 22 accept"])
  runner_program = var.runner_program
  enrol = {
    github_url = var.github_url
    repository = var.repository
    name       = var.name
    labels     = ["hub"]
    settings   = local.settings
  }

  files = merge(
    { for name in local.units : "/etc/systemd/system/${name}" => { permissions = "0644", content = file("${local.files}/${name}") } },
    { for name in ["nightshift-here", "nightshift-volume"] : "/usr/local/sbin/${name}" => { permissions = "0755", content = file("${local.files}/${name}") } },
    var.terraform == null ? {} : {
      "/usr/local/sbin/nightshift-terraform" = { permissions = "0755", content = file("${local.files}/nightshift-terraform") }
      "/etc/nightshift/terraform.env" = {
        permissions = "0644"
        content = join("", [
          "PROGRAM='${var.terraform.program.url}'\n",
          "PROGRAM_SHA256='${var.terraform.program.sha256}'\n",
          "PROVIDER='${var.terraform.provider.url}'\n",
          "PROVIDER_SHA256='${var.terraform.provider.sha256}'\n",
        ])
      }
      "/etc/nightshift/nights.tfbackend" = {
        permissions = "0644"
        content     = "bucket = ${jsonencode(var.terraform.bucket)}\nendpoints = { s3 = ${jsonencode(var.terraform.endpoint)} }\n"
      }
    },
    {
      "/etc/apt/apt.conf.d/90-nightshift" = {
        permissions = "0644"
        content     = templatefile("${path.module}/../../templates/unattended-upgrades.conf.tftpl", { reboot_at = var.reboot_at })
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
  )
  before_install = [["nightshift-volume"]]
  at_last = concat(
    var.terraform == null ? [] : [["nightshift-terraform"]],
    [["systemctl", "enable", "--now", "nightshift-hub.service", "nightshift-backup.timer", "nightshift-reap.timer"]],
  )
}
