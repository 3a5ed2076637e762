mock_provider "hcloud" {
  mock_resource "hcloud_firewall" {
    defaults = { id = "101" }
  }
  mock_resource "hcloud_server" {
    defaults = { id = "102", ipv4_address = "192.0.2.10" }
  }
  mock_resource "hcloud_volume" {
    defaults = { id = "103" }
  }
  mock_resource "hcloud_network" {
    defaults = { id = "104" }
  }
  mock_resource "hcloud_placement_group" {
    defaults = { id = "105" }
  }
}

variables {
  repository  = "me/bench"
  nightshift  = { repository = "https://github.example/me/nightshift.git", revision = "v1.2.0" }
  admin_cidrs = ["203.0.113.7/32"]
  ssh_keys    = { me = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3Q= me@laptop" }
  runner_program = {
    url    = "https://github.example/actions-runner-linux-x64-2.330.0.tar.gz"
    sha256 = "e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f"
  }
}

run "makes_a_hub_and_leaves_benches_to_the_nights" {
  command = plan

  assert {
    condition     = length(module.bench.servers) == 0
    error_message = "there are benches without a night"
  }
  assert {
    condition     = output.hub_labels == "[\"self-hosted\",\"hub\"]"
    error_message = "labels of the hub, as JSON"
  }
  assert {
    condition     = output.runner_labels == { ccx33 = tolist(["self-hosted", "ccx33"]) }
    error_message = "labels of the benches"
  }
  assert {
    condition     = output.nightshift_toml == <<-EOT
      [github]
      repository = "me/bench"

      [fleet]
      name = "nightshift"
      locations = ["fsn1","nbg1","hel1"]
      image = "debian-12"
      per_night = "5 EUR"
      per_month = "60 EUR"

      [[class]]
      name = "ccx33"
      cores = 8
      memory_gb = 32
      runner = ["self-hosted","ccx33"]
      server_type = "ccx33"
      count = 2
    EOT
    error_message = "the tables of the fleet in nightshift.toml"
  }
  assert {
    condition     = strcontains(module.hub.cloud_init, "ip saddr 10.20.0.0/16 drop")
    error_message = "the hub is not in the network, or lets it in"
  }
}

run "takes_the_name_and_the_budgets_of_a_pipeline" {
  command = plan

  variables {
    pipeline  = "team.a"
    per_month = ""
  }

  assert {
    condition     = strcontains(output.nightshift_toml, "name = \"team.a\"") && !strcontains(output.nightshift_toml, "per_month")
    error_message = "the tables of the fleet in nightshift.toml"
  }
}

run "refuses_no_location" {
  command = plan

  variables {
    locations = []
  }

  expect_failures = [var.locations]
}

run "refuses_a_datacenter" {
  command = plan

  variables {
    locations = ["fsn1-dc14"]
  }

  expect_failures = [var.locations]
}

run "refuses_a_sum_without_currency" {
  command = plan

  variables {
    per_night = "5"
  }

  expect_failures = [var.per_night]
}

run "refuses_a_sum_by_sign" {
  command = plan

  variables {
    per_month = "60 €"
  }

  expect_failures = [var.per_month]
}

run "refuses_a_bench_that_shares_its_processors" {
  command = plan

  variables {
    bench_type = "cx33"
  }

  expect_failures = [var.bench_type]
}
