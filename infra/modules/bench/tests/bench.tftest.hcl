mock_provider "hcloud" {
  mock_resource "hcloud_firewall" {
    defaults = { id = "101" }
  }
  mock_resource "hcloud_placement_group" {
    defaults = { id = "102" }
  }
  mock_resource "hcloud_server" {
    defaults = { id = "103", ipv4_address = "192.0.2.10" }
  }
}

variables {
  night         = "2026-03-01"
  machine_class = "ccx33"
  server_type   = "ccx33"
  runner_program = {
    url    = "https://github.example/actions-runner-linux-x64-2.330.0.tar.gz"
    sha256 = "e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f"
  }
  runner_configurations = [["b25l", "dHdv"]]
}

run "makes_one_server_as_the_fleet_does" {
  command = apply

  assert {
    condition     = hcloud_server.bench[0].name == "nightshift-2026-03-01-254319-ccx33-1"
    error_message = "name of the server: pipeline/fleet/labels.py makes another"
  }
  assert {
    condition = (
      toset(keys(hcloud_server.bench[0].labels)) == toset(["nightshift", "night", "class", "expires", "role"]) &&
      hcloud_server.bench[0].labels["nightshift"] == "nightshift" &&
      hcloud_server.bench[0].labels["night"] == "2026-03-01" &&
      hcloud_server.bench[0].labels["class"] == "ccx33" &&
      hcloud_server.bench[0].labels["role"] == "bench"
    )
    error_message = "labels of the server: the reaper would not take it"
  }
  assert {
    condition     = can(regex("^20[0-9]{6}T[0-9]{6}Z$", hcloud_server.bench[0].labels["expires"]))
    error_message = "label expires: the reaper could not read it"
  }
  assert {
    condition     = hcloud_server.bench[0].labels["expires"] == formatdate("YYYYMMDD'T'hhmmss'Z'", output.expires)
    error_message = "label expires and output differ"
  }
  assert {
    condition = (
      timecmp(output.expires, timeadd(plantimestamp(), "7h59m")) > 0 && timecmp(output.expires, timeadd(plantimestamp(), "8h1m")) < 0
    )
    error_message = "time to live"
  }
  assert {
    condition     = length(hcloud_placement_group.spread) == 0
    error_message = "one server needs no placement group"
  }
  assert {
    condition     = hcloud_server.bench[0].firewall_ids == toset([101]) && hcloud_server.bench[0].location == "fsn1" && hcloud_server.bench[0].image == "debian-12"
    error_message = "firewall, place or image of the server"
  }
  assert {
    condition     = output.class == { name = "ccx33", cores = 8, memory_gb = 32, runner = tolist(["self-hosted", "ccx33"]), server_type = "ccx33", count = 1 }
    error_message = "output class"
  }
  assert {
    condition     = output.servers == { "nightshift-2026-03-01-254319-ccx33-1" = "192.0.2.10" }
    error_message = "output servers"
  }
}

run "stays_as_it_is_when_it_is_planned_again" {
  command = plan

  # What changed would not be known before it was applied, and what is not known is no success.
  assert {
    condition     = hcloud_server.bench[0].id == "103" && can(formatdate("YYYY", output.expires))
    error_message = "the server would be made anew, or its life be prolonged"
  }
}

run "lets_nobody_in" {
  command = apply

  assert {
    condition     = length(module.firewall[0].rules) == 0
    error_message = "the firewall lets somebody in"
  }
  assert {
    condition     = !strcontains(module.host.written["/etc/nftables.conf"].content, "dport 22")
    error_message = "nftables lets somebody in"
  }
  assert {
    condition = (
      strcontains(module.host.written["/etc/nftables.conf"].content, "hook input priority 0; policy drop;") &&
      strcontains(module.host.written["/etc/nftables.conf"].content, "meta skuid != 0 ip daddr 169.254.169.254 reject")
    )
    error_message = "jobs read the user data, or nftables lets something in"
  }
  assert {
    condition = (
      index(yamldecode(output.cloud_init).runcmd, ["systemctl", "restart", "nftables.service"]) <
      index(yamldecode(output.cloud_init).runcmd, ["systemctl", "start", "nightshift-runner.service"])
    )
    error_message = "the first job begins before the wall is up"
  }
  assert {
    condition     = contains(yamldecode(output.cloud_init).runcmd, ["systemctl", "disable", "--now", "ssh.service", "ssh.socket"])
    error_message = "the SSH server is on"
  }
  assert {
    condition     = yamldecode(output.cloud_init).users == [{ name = "runner", lock_passwd = true, shell = "/bin/bash" }]
    error_message = "there is another account than the runner's"
  }
  assert {
    condition     = !strcontains(output.cloud_init, "b25l")
    error_message = "the configuration of a runner is put out, and so in the state"
  }
}

run "gives_each_server_its_own_configurations" {
  command = apply

  variables {
    server_count          = 2
    runner_configurations = [["b25l", "dHdv"], ["dGhyZWU="]]
  }

  assert {
    condition = [
      for text in local.user_data : {
        for file in yamldecode(text).write_files : file.path => file.content if startswith(file.path, "/etc/nightshift/jobs/")
      }
    ] == [{ "/etc/nightshift/jobs/1" = "b25l", "/etc/nightshift/jobs/2" = "dHdv" }, { "/etc/nightshift/jobs/1" = "dGhyZWU=" }]
    error_message = "configurations of the runners"
  }
  assert {
    condition     = alltrue([for text in local.user_data : startswith(text, "#cloud-config\n") && alltrue([for file in yamldecode(text).write_files : file.owner == "root:root"])])
    error_message = "the cloud-init of the servers"
  }
  assert {
    condition     = length(hcloud_placement_group.spread) == 1 && hcloud_placement_group.spread[0].type == "spread" && hcloud_server.bench[1].placement_group_id == 102
    error_message = "two servers may be on one host"
  }
  assert {
    condition     = module.host.written["/etc/nightshift/runner.env"].content == "URL='https://github.example/actions-runner-linux-x64-2.330.0.tar.gz'\nSHA256='e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f'\nCLASS='ccx33'\n"
    error_message = "what the runners' service reads"
  }
}

run "parts_many_servers_into_groups_of_ten" {
  command = apply

  variables {
    server_count          = 12
    runner_configurations = [["MDE="], ["MDI="], ["MDM="], ["MDQ="], ["MDU="], ["MDY="], ["MDc="], ["MDg="], ["MDk="], ["MTA="], ["MTE="], ["MTI="]]
    pipeline              = "Team.A-x"
    night                 = "Run_4711.9999999999999999999999999999999999999999x"
    machine_class         = "AX162-S.with.a.long.name"
    runner_labels         = ["self-hosted", "large"]
  }

  assert {
    condition     = hcloud_server.bench[11].name == "team-a-x-run-4711-99999999999999-051336-ax162-s-with-2ff3-12"
    error_message = "name of the twelfth server: pipeline/fleet/labels.py makes another"
  }
  assert {
    condition     = length(hcloud_placement_group.spread) == 2 && hcloud_placement_group.spread[1].name == "${trimsuffix(hcloud_server.bench[11].name, "-12")}-2"
    error_message = "placement groups"
  }
  assert {
    condition     = output.runner_labels == tolist(["self-hosted", "large"])
    error_message = "labels of the runners"
  }
}

run "cuts_the_name_of_a_class" {
  command = apply

  variables {
    machine_class = "a-class-of-nineteen"
  }

  assert {
    condition     = hcloud_server.bench[0].name == "nightshift-2026-03-01-254319-a-class-of-ni-e6b5-1"
    error_message = "name of the server: pipeline/fleet/labels.py makes another"
  }
}

run "makes_nothing_without_a_night" {
  command = plan

  variables {
    night                 = ""
    runner_configurations = []
  }

  assert {
    condition     = length(hcloud_server.bench) == 0 && length(module.firewall) == 0 && length(hcloud_placement_group.spread) == 0
    error_message = "something is made"
  }
  assert {
    condition     = output.class.cores == 8 && output.expires == null && length(output.servers) == 0
    error_message = "outputs without a night"
  }
}

run "opens_a_trial_to_its_administrators" {
  command = apply

  variables {
    runner_configurations = []
    runner_program        = null
    server_type           = "cpx21"
    cores                 = 3
    memory_gb             = 4
    admin_cidrs           = ["203.0.113.7/32"]
    ssh_keys              = { me = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3Q= me@laptop" }
    nightshift            = { repository = "https://github.example/me/nightshift.git", revision = "v1.2.0" }
  }

  assert {
    condition     = [for rule in module.firewall[0].rules : [rule.port, rule.source_ips]] == [["22", toset(["203.0.113.7/32"])]]
    error_message = "the firewall"
  }
  assert {
    condition     = strcontains(module.host.written["/etc/nftables.conf"].content, "tcp dport 22 accept")
    error_message = "nftables"
  }
  assert {
    condition     = yamldecode(output.cloud_init).users[1].ssh_authorized_keys == ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3Q= me@laptop"]
    error_message = "keys of the account admin"
  }
  assert {
    condition     = yamldecode(output.cloud_init).ssh_pwauth == false && strcontains(module.host.written["/etc/ssh/sshd_config.d/10-nightshift.conf"].content, "PermitRootLogin no")
    error_message = "passwords or root are let in"
  }
  assert {
    condition = (
      contains(yamldecode(output.cloud_init).runcmd, ["nightshift-install"]) &&
      contains(yamldecode(output.cloud_init).runcmd, ["systemctl", "enable", "--now", "nightshift-tune.service"]) &&
      !contains(yamldecode(output.cloud_init).runcmd, ["systemctl", "start", "nightshift-runner.service"])
    )
    error_message = "what is started"
  }
  assert {
    condition     = output.class.cores == 3 && output.class.memory_gb == 4
    error_message = "size of the class"
  }
}

run "sleeps_undisturbed" {
  command = plan

  assert {
    condition = contains([
      for command in yamldecode(output.cloud_init).runcmd : true if slice(command, 0, 2) == ["systemctl", "mask"] && contains(command, "apt-daily-upgrade.timer")
    ], true)
    error_message = "upgrades may come in the midst of a run"
  }
  assert {
    condition     = !contains(yamldecode(output.cloud_init).packages, "unattended-upgrades")
    error_message = "upgrades may come in the midst of a run"
  }
}

run "takes_another_night_for_other_servers" {
  command = plan

  variables {
    night = "2026-03-02"
  }

  assert {
    condition     = hcloud_server.bench[0].labels["night"] == "2026-03-02" && hcloud_server.bench[0].labels["class"] == "ccx33"
    error_message = "labels of the next night"
  }
}

run "refuses_a_server_that_nobody_could_use" {
  command = plan

  variables {
    runner_configurations = []
  }

  expect_failures = [hcloud_server.bench]
}

run "refuses_runners_without_a_program" {
  command = plan

  variables {
    runner_program = null
  }

  expect_failures = [hcloud_server.bench]
}

run "a_long_text" {
  module {
    source = "./tests/long"
  }
}

run "refuses_more_user_data_than_a_server_takes" {
  command = plan

  variables {
    runner_configurations = [[run.a_long_text.text]]
  }

  expect_failures = [hcloud_server.bench]
}

run "refuses_a_pipeline_that_is_no_label" {
  command = plan

  variables {
    pipeline = "-nightshift"
  }

  expect_failures = [var.pipeline]
}

run "refuses_a_night_that_is_no_label" {
  command = plan

  variables {
    night = "2026/03/01"
  }

  expect_failures = [var.night]
}

run "refuses_a_life_without_unit" {
  command = plan

  variables {
    ttl = "8"
  }

  expect_failures = [var.ttl]
}

run "refuses_a_life_of_more_than_a_week" {
  command = plan

  variables {
    ttl = "169h"
  }

  expect_failures = [var.ttl]
}

run "lives_as_long_as_the_night_says" {
  command = apply

  variables {
    night   = "2026-03-03"
    expires = "2099-03-01T09:17:00Z"
  }

  assert {
    condition     = hcloud_server.bench[0].labels["expires"] == "20990301T091700Z" && output.expires == "2099-03-01T09:17:00Z"
    error_message = "the end of the time to live"
  }
}

run "refuses_an_end_that_is_not_in_utc" {
  command = plan

  variables {
    expires = "2099-03-01T09:17:00+01:00"
  }

  expect_failures = [var.expires]
}

run "refuses_a_class_that_is_no_label" {
  command = plan

  variables {
    machine_class = "ccx 33"
  }

  expect_failures = [var.machine_class]
}

run "refuses_half_a_processor" {
  command = plan

  variables {
    cores = 1.5
  }

  expect_failures = [var.cores]
}

run "refuses_no_processor" {
  command = plan

  variables {
    cores = 0
  }

  expect_failures = [var.cores]
}

run "refuses_half_a_gigabyte" {
  command = plan

  variables {
    memory_gb = 0.5
  }

  expect_failures = [var.memory_gb]
}

run "refuses_a_type_of_another_architecture" {
  command = plan

  variables {
    server_type = "cax41"
    cores       = 16
    memory_gb   = 32
  }

  expect_failures = [var.server_type]
}

run "refuses_no_server" {
  command = plan

  variables {
    server_count          = 0
    runner_configurations = []
  }

  expect_failures = [var.server_count]
}

run "refuses_too_many_servers" {
  command = plan

  variables {
    server_count          = 51
    runner_configurations = []
  }

  expect_failures = [var.server_count]
}

run "refuses_a_datacenter" {
  command = plan

  variables {
    location = "fsn1-dc14"
  }

  expect_failures = [var.location]
}

run "refuses_an_image_of_no_name" {
  command = plan

  variables {
    image = "Debian 12"
  }

  expect_failures = [var.image]
}

run "refuses_a_label_of_no_runner" {
  command = plan

  variables {
    runner_labels = ["self hosted"]
  }

  expect_failures = [var.runner_labels]
}

run "refuses_configurations_for_other_servers" {
  command = plan

  variables {
    runner_configurations = [["b25l"], ["dHdv"]]
  }

  expect_failures = [var.runner_configurations]
}

run "refuses_a_server_without_configuration" {
  command = plan

  variables {
    runner_configurations = [[]]
  }

  expect_failures = [var.runner_configurations]
}

run "refuses_a_configuration_that_is_no_base64" {
  command = plan

  variables {
    runner_configurations = [["one job"]]
  }

  expect_failures = [var.runner_configurations]
}

run "refuses_a_configuration_twice" {
  command = plan

  variables {
    runner_configurations = [["b25l", "b25l"]]
  }

  expect_failures = [var.runner_configurations]
}

run "refuses_administrators_beside_runners" {
  command = plan

  variables {
    admin_cidrs = ["203.0.113.7/32"]
    ssh_keys    = { me = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3Q=" }
  }

  expect_failures = [var.admin_cidrs]
}

run "refuses_administrators_without_key" {
  command = plan

  variables {
    admin_cidrs           = ["203.0.113.7/32"]
    runner_configurations = []
  }

  expect_failures = [var.ssh_keys]
}

run "refuses_a_type_of_unknown_size" {
  command = plan

  variables {
    server_type = "cx33"
  }

  expect_failures = [var.cores, var.memory_gb]
}
