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
}

run "tries_one_bench" {
  command = apply

  assert {
    condition     = output.address == "192.0.2.10" && can(formatdate("YYYY", output.expires))
    error_message = "the bench"
  }
  assert {
    condition     = keys(module.bench[0].servers) == ["nightshift-trial-33f302-ccx13-1"]
    error_message = "name of the bench: pipeline/fleet/labels.py makes another"
  }
  assert {
    condition     = length(module.hub) == 0
    error_message = "there is a hub, too"
  }
  assert {
    condition     = module.bench[0].class.cores == 2 && contains(yamldecode(module.bench[0].cloud_init).runcmd, ["nightshift-install"])
    error_message = "what the bench is"
  }
}

run "tries_one_hub" {
  command = plan

  variables {
    trial = "hub"
  }

  assert {
    condition     = length(module.bench) == 0 && output.expires == null
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

run "refuses_another_trial" {
  command = plan

  variables {
    trial = "both"
  }

  expect_failures = [var.trial]
}

run "refuses_a_bench_that_shares_its_processors" {
  command = plan

  variables {
    bench_type = "cx33"
  }

  expect_failures = [var.bench_type]
}
