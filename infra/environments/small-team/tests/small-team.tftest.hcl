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
    condition     = length(output.benches) == 0
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
    error_message = "what nightshift.toml says of the fleet"
  }
  assert {
    condition     = strcontains(module.hub.cloud_init, "ip saddr 10.20.0.0/16 drop")
    error_message = "the hub is not in the network, or lets it in"
  }
}

run "makes_two_benches_for_a_night" {
  command = plan

  variables {
    pipeline              = "team.a"
    night                 = "2026-03-01"
    runner_configurations = [["b25l"], ["dHdv"]]
    per_month             = ""
  }

  assert {
    condition     = keys(output.benches) == ["team-a-2026-03-01-ae4ca2-ccx33-1", "team-a-2026-03-01-ae4ca2-ccx33-2"]
    error_message = "names of the benches: pipeline/fleet/labels.py makes others"
  }
  assert {
    condition     = strcontains(output.nightshift_toml, "name = \"team.a\"") && !strcontains(output.nightshift_toml, "per_month")
    error_message = "what nightshift.toml says of the fleet"
  }
}

run "refuses_a_repository_without_owner" {
  command = plan

  variables {
    repository = "bench"
  }

  expect_failures = [var.repository]
}

run "refuses_a_branch" {
  command = plan

  variables {
    nightshift = { repository = "https://github.example/me/nightshift.git", revision = "main" }
  }

  expect_failures = [var.nightshift]
}

run "refuses_the_world" {
  command = plan

  variables {
    admin_cidrs = ["0.0.0.0/0"]
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

run "refuses_to_let_nobody_in" {
  command = plan

  variables {
    admin_cidrs = []
  }

  expect_failures = [var.admin_cidrs]
}

run "refuses_nobody_with_a_key" {
  command = plan

  variables {
    ssh_keys = {}
  }

  expect_failures = [var.ssh_keys]
}

run "refuses_a_night_that_is_no_label" {
  command = plan

  variables {
    night = "2026/03/01"
  }

  expect_failures = [var.night]
}

run "refuses_a_life_of_more_than_a_week" {
  command = plan

  variables {
    ttl = "8d"
  }

  expect_failures = [var.ttl]
}

run "refuses_a_hub_of_another_architecture" {
  command = plan

  variables {
    hub_type = "cax21"
  }

  expect_failures = [var.hub_type]
}

run "refuses_a_program_by_http" {
  command = plan

  variables {
    runner_program = { url = "http://github.example/a.tar.gz", sha256 = "e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f" }
  }

  expect_failures = [var.runner_program]
}

run "refuses_a_program_without_checksum" {
  command = plan

  variables {
    runner_program = { url = "https://github.example/a.tar.gz", sha256 = "" }
  }

  expect_failures = [var.runner_program]
}

run "refuses_a_pipeline_that_is_no_label" {
  command = plan

  variables {
    pipeline = "night shift"
  }

  expect_failures = [var.pipeline]
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

run "refuses_a_volume_that_is_too_small" {
  command = plan

  variables {
    volume_gb = 5
  }

  expect_failures = [var.volume_gb]
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

run "refuses_no_bench" {
  command = plan

  variables {
    bench_count = 0
  }

  expect_failures = [var.bench_count]
}

run "refuses_configurations_for_other_benches" {
  command = plan

  variables {
    runner_configurations = [["b25l"]]
  }

  expect_failures = [var.runner_configurations]
}

run "refuses_a_server_without_configuration" {
  command = plan

  variables {
    runner_configurations = [["b25l"], []]
  }

  expect_failures = [var.runner_configurations]
}

run "refuses_a_configuration_twice" {
  command = plan

  variables {
    runner_configurations = [["b25l"], ["b25l"]]
  }

  expect_failures = [var.runner_configurations]
}
