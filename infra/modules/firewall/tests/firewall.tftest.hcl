mock_provider "hcloud" {
  mock_resource "hcloud_firewall" {
    defaults = { id = "101" }
  }
}

variables {
  name   = "wall"
  labels = { nightshift = "nightshift", role = "hub" }
}

run "lets_nothing_in" {
  command = plan

  assert {
    condition     = length(hcloud_firewall.wall.rule) == 0
    error_message = "there is a rule, and nobody was named"
  }
  assert {
    condition     = hcloud_firewall.wall.labels == tomap({ nightshift = "nightshift", role = "hub" })
    error_message = "labels of the firewall"
  }
}

run "lets_ssh_in_from_who_is_named" {
  command = plan

  variables {
    admin_cidrs = ["203.0.113.7/32", "2001:db8::/48", "198.51.100.0/24", "203.0.113.7/32"]
  }

  assert {
    condition     = length(hcloud_firewall.wall.rule) == 1
    error_message = "there is another rule than that of SSH"
  }
  assert {
    condition = alltrue([
      for rule in hcloud_firewall.wall.rule :
      rule.direction == "in" && rule.protocol == "tcp" && rule.port == "22" &&
      rule.source_ips == toset(["198.51.100.0/24", "2001:db8::/48", "203.0.113.7/32"])
    ])
    error_message = "the rule of SSH"
  }
}

run "refuses_the_world" {
  command = plan

  variables {
    admin_cidrs = ["203.0.113.7/32", "0.0.0.0/0"]
  }

  expect_failures = [var.admin_cidrs]
}

run "refuses_the_world_of_ipv6" {
  command = plan

  variables {
    admin_cidrs = ["::/0"]
  }

  expect_failures = [var.admin_cidrs]
}

run "refuses_the_world_by_another_name" {
  command = plan

  variables {
    admin_cidrs = ["203.0.113.7/0"]
  }

  expect_failures = [var.admin_cidrs]
}

run "refuses_the_world_in_halves" {
  command = plan

  variables {
    admin_cidrs = ["0.0.0.0/1", "128.0.0.0/1"]
  }

  expect_failures = [var.admin_cidrs]
}

run "refuses_the_world_of_ipv6_in_halves" {
  command = plan

  variables {
    admin_cidrs = ["::/1", "8000::/1"]
  }

  expect_failures = [var.admin_cidrs]
}

run "refuses_an_address_without_prefix" {
  command = plan

  variables {
    admin_cidrs = ["203.0.113.7"]
  }

  expect_failures = [var.admin_cidrs]
}

run "refuses_bits_behind_the_prefix" {
  command = plan

  variables {
    admin_cidrs = ["203.0.113.7/24"]
  }

  expect_failures = [var.admin_cidrs]
}

run "refuses_a_name_of_nothing" {
  command = plan

  variables {
    name = "Wall 1"
  }

  expect_failures = [var.name]
}

run "refuses_labels_of_nobody" {
  command = plan

  variables {
    labels = { role = "hub" }
  }

  expect_failures = [var.labels]
}

run "refuses_a_value_that_is_no_label" {
  command = plan

  variables {
    labels = { nightshift = "night shift" }
  }

  expect_failures = [var.labels]
}
