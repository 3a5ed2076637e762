# The server that stays: results, store, Prometheus, Grafana, and the runner that is trusted with
# tokens. What it holds is on a volume of its own, so that the server can be replaced.

locals {
  # No bench: `nightshift fleet` never touches another role.
  labels = { nightshift = var.pipeline, role = "hub" }
}

module "firewall" {
  source = "../firewall"

  name        = var.name
  labels      = local.labels
  admin_cidrs = var.admin_cidrs
}

resource "hcloud_ssh_key" "admin" {
  for_each = var.ssh_keys

  name       = "${var.name}-${each.key}"
  public_key = each.value
  labels     = local.labels
}

resource "hcloud_volume" "data" {
  name              = var.name
  size              = var.volume_gb
  location          = var.location
  format            = "ext4"
  labels            = local.labels
  delete_protection = var.protected

  lifecycle {
    # It holds every measurement. To give it up, take it out of the state and delete it by hand.
    prevent_destroy = true
  }
}

resource "hcloud_server" "hub" {
  name                     = var.name
  server_type              = var.server_type
  image                    = var.image
  location                 = var.location
  ssh_keys                 = [for key in hcloud_ssh_key.admin : key.id]
  user_data                = local.user_data
  labels                   = local.labels
  firewall_ids             = [module.firewall.id]
  backups                  = var.backups
  delete_protection        = var.protected
  rebuild_protection       = var.protected
  shutdown_before_deletion = true

  public_net {
    ipv4_enabled = true
    ipv6_enabled = true
  }

  dynamic "network" {
    for_each = var.network == null ? [] : [var.network]

    content {
      network_id = network.value.id
      # Without it every apply would detach the network and attach it again.
      alias_ips = []
    }
  }

  lifecycle {
    # They are read at the first boot alone. A hub that runs is not made anew for another word in them.
    ignore_changes = [user_data, image, ssh_keys]
  }
}

resource "hcloud_volume_attachment" "data" {
  volume_id = hcloud_volume.data.id
  server_id = hcloud_server.hub.id
  automount = false
}
