# A private network between the hub and, through a vSwitch, dedicated hosts. Hetzner's firewalls do
# not look at what goes through it, so no server that runs code of others is ever a part of it.

resource "hcloud_network" "private" {
  name                     = var.name
  ip_range                 = var.ip_range
  expose_routes_to_vswitch = var.vswitch != null
  labels                   = { nightshift = var.pipeline, role = "network" }
}

resource "hcloud_network_subnet" "cloud" {
  network_id   = hcloud_network.private.id
  type         = "cloud"
  network_zone = var.network_zone
  ip_range     = var.subnet_range
}

resource "hcloud_network_subnet" "vswitch" {
  count = var.vswitch == null ? 0 : 1

  network_id   = hcloud_network.private.id
  type         = "vswitch"
  network_zone = var.network_zone
  ip_range     = var.vswitch.ip_range
  vswitch_id   = var.vswitch.id
}
