mock_provider "hcloud" {
  mock_resource "hcloud_network" {
    defaults = { id = "101" }
  }
}

run "makes_a_network_that_no_night_deletes" {
  command = plan

  assert {
    condition     = hcloud_network.private.labels == tomap({ nightshift = "nightshift", role = "network" })
    error_message = "labels of the network"
  }
  assert {
    condition     = hcloud_network.private.ip_range == "10.20.0.0/16" && hcloud_network_subnet.cloud.ip_range == "10.20.1.0/24"
    error_message = "addresses of the network"
  }
  assert {
    condition     = hcloud_network_subnet.cloud.type == "cloud" && hcloud_network_subnet.cloud.network_zone == "eu-central"
    error_message = "subnet of the cloud servers"
  }
  assert {
    condition     = length(hcloud_network_subnet.vswitch) == 0 && !hcloud_network.private.expose_routes_to_vswitch
    error_message = "there is a vSwitch, and none was asked for"
  }
}

run "puts_out_what_the_hub_joins" {
  command = apply

  assert {
    condition     = output.network == { id = "101", ip_range = "10.20.0.0/16" }
    error_message = "output network"
  }
}

run "joins_a_vswitch" {
  command = plan

  variables {
    ip_range     = "192.168.0.0/20"
    subnet_range = "192.168.1.0/24"
    vswitch      = { id = 4711, ip_range = "192.168.2.0/24" }
  }

  assert {
    condition = (
      hcloud_network_subnet.vswitch[0].type == "vswitch" && hcloud_network_subnet.vswitch[0].vswitch_id == 4711 &&
      hcloud_network_subnet.vswitch[0].ip_range == "192.168.2.0/24" && hcloud_network.private.expose_routes_to_vswitch
    )
    error_message = "subnet of the vSwitch"
  }
}

run "refuses_a_pipeline_that_is_no_label" {
  command = plan

  variables {
    pipeline = "night shift"
  }

  expect_failures = [var.pipeline]
}

run "refuses_a_name_of_no_host" {
  command = plan

  variables {
    name = "Night_shift"
  }

  expect_failures = [var.name]
}

run "refuses_public_addresses" {
  command = plan

  variables {
    ip_range     = "172.32.0.0/16"
    subnet_range = "172.32.1.0/24"
  }

  expect_failures = [var.ip_range]
}

run "refuses_a_subnet_outside" {
  command = plan

  variables {
    subnet_range = "10.21.1.0/24"
  }

  expect_failures = [var.subnet_range]
}

run "refuses_a_subnet_that_is_larger" {
  command = plan

  variables {
    subnet_range = "10.0.0.0/8"
  }

  expect_failures = [var.subnet_range]
}

run "refuses_an_unknown_zone" {
  command = plan

  variables {
    network_zone = "eu-west-1"
  }

  expect_failures = [var.network_zone]
}

run "refuses_a_vswitch_outside" {
  command = plan

  variables {
    vswitch = { id = 4711, ip_range = "10.21.2.0/24" }
  }

  expect_failures = [var.vswitch]
}

run "refuses_a_vswitch_in_the_place_of_the_servers" {
  command = plan

  variables {
    vswitch = { id = 4711, ip_range = "10.20.1.0/24" }
  }

  expect_failures = [var.vswitch]
}

run "refuses_a_vswitch_without_number" {
  command = plan

  variables {
    vswitch = { id = 0, ip_range = "10.20.2.0/24" }
  }

  expect_failures = [var.vswitch]
}
