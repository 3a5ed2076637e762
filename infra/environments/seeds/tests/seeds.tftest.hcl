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
  hosts = {
    ax162 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48", robot_number = 321 }
    tower = { class = "7049a-t", cores = 24, memory_gb = 64, address = "192.0.2.24", drives = ["nvme0n1"] }
  }
}

run "has_the_classes_of_the_reports" {
  command = plan

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
    bench_counts = { ccx33 = 1, ccx53 = 2 }
    vswitch      = { id = 4711, ip_range = "10.20.2.0/24" }
  }

  assert {
    condition     = jsonencode(regexall("count = (.+)", output.nightshift_toml)) == jsonencode([["1"], ["2"], ["1"], ["1"]])
    error_message = "how many benches a class has"
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

run "refuses_a_class_without_count" {
  command = plan

  variables {
    bench_counts = { ccx33 = 1 }
  }

  expect_failures = [var.bench_counts]
}

run "refuses_half_a_bench" {
  command = plan

  variables {
    bench_counts = { ccx33 = 1, ccx53 = 0.5 }
  }

  expect_failures = [var.bench_counts]
}

run "refuses_hosts_without_24_processors" {
  command = plan

  variables {
    hosts = { ax162 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48" } }
  }

  expect_failures = [var.hosts]
}
