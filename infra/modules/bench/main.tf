# Servers of one machine class for one night. They carry their labels from their first moment on, so
# that the reaper finds them whatever happened to whoever made them.

locals {
  count = var.night == "" ? 0 : var.server_count
  # A group takes ten servers and keeps each on a host of its own. One needs none.
  groups = local.count > 1 ? ceil(local.count / 10) : 0
}

module "firewall" {
  source = "../firewall"
  count  = local.count > 0 ? 1 : 0

  name        = local.name
  labels      = local.labels
  admin_cidrs = var.admin_cidrs
}

resource "hcloud_placement_group" "spread" {
  count = local.groups

  name   = "${local.name}-${count.index + 1}"
  type   = "spread"
  labels = local.labels
}

resource "hcloud_server" "bench" {
  count = local.count

  name               = "${local.name}-${count.index + 1}"
  server_type        = var.server_type
  image              = var.image
  location           = var.location
  ssh_keys           = var.project_keys
  user_data          = local.user_data[count.index]
  labels             = local.labels
  firewall_ids       = [module.firewall[0].id]
  placement_group_id = local.groups == 0 ? null : hcloud_placement_group.spread[floor(count.index / 10)].id

  public_net {
    ipv4_enabled = true
    ipv6_enabled = true
  }

  lifecycle {
    replace_triggered_by = [terraform_data.expires]

    precondition {
      condition     = timecmp(local.expires, plantimestamp()) > 0
      error_message = "The night ${var.night} is over: name another one, or destroy what is left of it."
    }
    precondition {
      condition     = local.jobs || local.trial
      error_message = "Nobody could use such a server: give runner_configurations, or admin_cidrs for a trial."
    }
    precondition {
      condition     = !local.jobs || var.runner_program != null
      error_message = "Runners need runner_program: the address of the program, and its SHA-256."
    }
    precondition {
      condition     = nonsensitive(length(local.user_data[count.index])) <= 32768
      error_message = "The cloud-init of a server is longer than the 32 KiB that Hetzner Cloud takes: give fewer configurations."
    }
  }
}
