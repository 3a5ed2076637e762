# Hosts that are ordered, not made: nothing of this module is in the cloud, and it needs no token. It
# renders what they are installed with, and the classes that nightshift.toml wants.

module "host" {
  source   = "../host"
  for_each = var.hosts

  part       = "run"
  nightshift = var.nightshift
  ssh_keys   = var.ssh_keys
  packages   = var.packages
  rules = [
    for cidr in sort(distinct(var.admin_cidrs)) : "${strcontains(cidr, ":") ? "ip6" : "ip"} saddr ${cidr} tcp dport 22 accept"
  ]
  runner_program = var.runner_program
  enrol = {
    github_url = var.github_url
    repository = var.repository
    name       = each.key
    labels     = [each.value.class]
    settings   = ["NIGHTSHIFT_MACHINE_CLASS=${each.value.class}"]
  }
}

locals {
  post_install = {
    for name, host in var.hosts : name => templatefile("${path.module}/../../templates/post-install.sh.tftpl", {
      host              = name
      kernel_parameters = concat(host.smt ? [] : ["nosmt"], var.kernel_parameters)
      # cloud-init takes another text for another instance, and does all of it again.
      instance  = "nightshift-${substr(sha256(module.host[name].cloud_init), 0, 12)}"
      user_data = base64encode(module.host[name].cloud_init)
    })
  }

  classes = {
    for name, hosts in { for host in values(var.hosts) : host.class => host... } : name => {
      name      = name
      cores     = hosts[0].cores
      memory_gb = hosts[0].memory_gb
      runner    = ["self-hosted", name]
      # Reserved hosts stay: a night makes none of a class without a type.
      server_type = ""
      count       = length(hosts)
    }
  }
}
