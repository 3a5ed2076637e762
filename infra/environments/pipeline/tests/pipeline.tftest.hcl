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
  size        = "small-team"
  benches     = { ccx33 = 2 }
  per_night   = "5 EUR"
  per_month   = "60 EUR"
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
    condition     = length(module.bench["ccx33"].servers) == 0
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
    condition     = strcontains(module.hub[0].cloud_init, "ip saddr 10.20.0.0/16 drop")
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
    benches = { cx33 = 1 }
  }

  expect_failures = [var.benches]
}

run "refuses_half_a_bench" {
  command = plan

  variables {
    benches = { ccx33 = 1, ccx53 = 0.5 }
  }

  expect_failures = [var.benches]
}

run "refuses_another_size" {
  command = plan

  variables {
    size = "both"
  }

  expect_failures = [var.size]
}

run "tries_one_bench" {
  command = apply

  variables {
    size    = "bench"
    benches = { ccx13 = 1 }
  }

  assert {
    condition     = output.address == "192.0.2.10" && can(formatdate("YYYY", output.expires))
    error_message = "the bench"
  }
  assert {
    condition     = keys(module.bench["ccx13"].servers) == ["nightshift-trial-33f302-ccx13-1"]
    error_message = "name of the bench: pipeline/fleet/labels.py makes another"
  }
  assert {
    condition     = length(module.hub) + length(module.network) == 0
    error_message = "there is a hub, too"
  }
  assert {
    condition     = module.bench["ccx13"].class.cores == 2 && contains(yamldecode(module.bench["ccx13"].cloud_init).runcmd, ["nightshift-install"])
    error_message = "what the bench is"
  }
}

run "tries_one_hub" {
  command = plan

  variables {
    size    = "hub"
    benches = {}
  }

  assert {
    condition     = length(module.bench) + length(module.network) == 0 && output.expires == null
    error_message = "there is a bench, too"
  }
  assert {
    condition     = strcontains(module.hub[0].cloud_init, "nightshift-hub.service")
    error_message = "the cloud-init of the hub"
  }
}

run "refuses_a_night_that_is_no_label" {
  command = plan

  variables {
    night = "2026/03/01"
  }

  expect_failures = [var.night]
}

run "has_the_classes_of_the_reports" {
  command = plan

  variables {
    size    = "seeds"
    benches = { ccx33 = 1, ccx53 = 1 }
    hosts = {
      ax162 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48", robot_number = 321 }
      tower = { class = "7049a-t", cores = 24, memory_gb = 64, address = "192.0.2.24", drives = ["nvme0n1"] }
    }
  }

  assert {
    condition = jsonencode(output.runner_labels) == jsonencode({
      "7049a-t" = ["self-hosted", "7049a-t"]
      "ax162-s" = ["self-hosted", "ax162-s"]
      "ccx33"   = ["self-hosted", "ccx33"]
      "ccx53"   = ["self-hosted", "ccx53"]
    })
    error_message = "labels of the runners"
  }
  assert {
    condition = jsonencode(regexall("name = \"(.+)\"\ncores = (.+)\nmemory_gb = (.+)\n", output.nightshift_toml)) == jsonencode([
      ["ccx33", "8", "32"], ["ccx53", "32", "128"], ["7049a-t", "24", "64"], ["ax162-s", "48", "128"],
    ])
    error_message = "the classes"
  }
  assert {
    condition     = jsonencode(regexall("server_type = \"(.+)\"", output.nightshift_toml)) == jsonencode([["ccx33"], ["ccx53"]])
    error_message = "which of them are made for a night"
  }
  assert {
    condition     = alltrue([for bench in module.bench : length(bench.servers) == 0]) && toset(keys(output.hosts)) == toset(["ax162", "tower"])
    error_message = "benches and hosts"
  }
}

run "joins_hosts_and_hub_by_a_vswitch" {
  command = plan

  variables {
    size    = "seeds"
    benches = { ccx33 = 1, ccx53 = 2 }
    hosts = {
      ax162 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48", robot_number = 321 }
      tower = { class = "7049a-t", cores = 24, memory_gb = 64, address = "192.0.2.24", drives = ["nvme0n1"] }
    }
    vswitch = { id = 4711, ip_range = "10.20.2.0/24" }
  }

  assert {
    condition     = jsonencode(regexall("count = (.+)", output.nightshift_toml)) == jsonencode([["1"], ["2"], ["1"], ["1"]])
    error_message = "how many benches a class has"
  }
}

run "refuses_hosts_without_24_processors" {
  command = plan

  variables {
    size  = "seeds"
    hosts = { ax162 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48" } }
  }

  expect_failures = [var.hosts]
}
