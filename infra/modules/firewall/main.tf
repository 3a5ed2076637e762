# Nothing comes in but SSH, from addresses that are named. Without a rule Hetzner drops all of it.

resource "hcloud_firewall" "wall" {
  name   = var.name
  labels = var.labels

  dynamic "rule" {
    for_each = length(var.admin_cidrs) > 0 ? [sort(distinct(var.admin_cidrs))] : []

    content {
      description = "SSH for administrators"
      direction   = "in"
      protocol    = "tcp"
      port        = "22"
      source_ips  = rule.value
    }
  }
}
