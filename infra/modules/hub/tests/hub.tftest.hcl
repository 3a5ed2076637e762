# Planned, never applied: what prevent_destroy holds, a test could not clean up.

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
}

variables {
  repository  = "me/bench"
  nightshift  = { repository = "https://github.example/me/nightshift.git", revision = "0123456789abcdef0123456789abcdef01234567" }
  admin_cidrs = ["203.0.113.7/32"]
  ssh_keys = {
    me  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3Q= me@laptop"
    you = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3Qx you@laptop"
  }
  runner_program = {
    url    = "https://github.example/actions-runner-linux-x64-2.330.0.tar.gz"
    sha256 = "e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f"
  }
}

run "makes_a_server_that_stays" {
  command = plan

  assert {
    condition     = hcloud_server.hub.labels == tomap({ nightshift = "nightshift", role = "hub" })
    error_message = "labels of the hub: the reaper might take it"
  }
  assert {
    condition     = hcloud_server.hub.delete_protection && hcloud_server.hub.rebuild_protection && hcloud_volume.data.delete_protection
    error_message = "hub or volume can be deleted by accident"
  }
  assert {
    condition     = hcloud_server.hub.backups
    error_message = "there are no backups"
  }
  assert {
    condition     = hcloud_volume.data.size == 50 && hcloud_volume.data.format == "ext4" && hcloud_volume.data.location == hcloud_server.hub.location
    error_message = "the volume"
  }
  assert {
    condition     = hcloud_volume.data.labels == tomap({ nightshift = "nightshift", role = "hub" })
    error_message = "labels of the volume: the reaper might take it"
  }
  assert {
    condition     = toset([for key in hcloud_ssh_key.admin : key.name]) == toset(["nightshift-hub-me", "nightshift-hub-you"])
    error_message = "keys of the project"
  }
  assert {
    condition     = length(hcloud_server.hub.network) == 0
    error_message = "it is in a network, and none was given"
  }
}

run "lets_in_administrators_by_ssh_alone" {
  command = plan

  assert {
    condition     = [for rule in module.firewall.rules : [rule.direction, rule.protocol, rule.port, rule.source_ips]] == [["in", "tcp", "22", toset(["203.0.113.7/32"])]]
    error_message = "the firewall"
  }
  assert {
    condition     = [for line in split("\n", module.host.written["/etc/nftables.conf"].content) : trimspace(line) if strcontains(line, "dport")] == ["udp sport 67 udp dport 68 accept", "tcp dport 22 accept"]
    error_message = "nftables lets in something else than SSH and the answers of DHCP"
  }
  assert {
    condition     = [for user in yamldecode(output.cloud_init).users : user.name if try(length(user.ssh_authorized_keys) == 2, false)] == ["admin"]
    error_message = "who has keys"
  }
  assert {
    condition     = alltrue([for user in yamldecode(output.cloud_init).users : user.lock_passwd]) && yamldecode(output.cloud_init).ssh_pwauth == false && yamldecode(output.cloud_init).disable_root
    error_message = "somebody has a password"
  }
  assert {
    condition     = alltrue([for name in ["PasswordAuthentication no", "PermitRootLogin no", "AllowUsers admin"] : strcontains(module.host.written["/etc/ssh/sshd_config.d/10-nightshift.conf"].content, name)])
    error_message = "the SSH server"
  }
}

run "gets_what_to_run" {
  command = plan

  assert {
    condition     = yamldecode(output.cloud_init).runcmd[6] == ["systemctl", "enable", "--now", "nightshift-hub.service", "nightshift-backup.timer", "nightshift-reap.timer"]
    error_message = "hub, backup and reaper are not started"
  }
  assert {
    condition     = module.host.written["/etc/nightshift/source.env"].content == "REPOSITORY='https://github.example/me/nightshift.git'\nREVISION='0123456789abcdef0123456789abcdef01234567'\nPART=hub\n"
    error_message = "which nightshift is installed"
  }
  assert {
    condition     = module.host.written["/etc/nightshift/nightshift.toml"].content == "[github]\nrepository = \"me/bench\"\n\n[fleet]\nname = \"nightshift\"\n"
    error_message = "the configuration to begin with"
  }
  assert {
    condition     = strcontains(module.host.written["/etc/nightshift/enrol.env"].content, "URL='https://github.com/me/bench'\nNAME='nightshift-hub'\nLABELS='hub'\nACCOUNT='nightshift'\n")
    error_message = "what the runner is registered as"
  }
  assert {
    condition     = strcontains(module.host.written["/etc/apt/apt.conf.d/90-nightshift"].content, "Automatic-Reboot-Time \"12:00\"") && contains(yamldecode(output.cloud_init).packages, "unattended-upgrades")
    error_message = "security updates"
  }
  assert {
    condition     = !anytrue([for name in ["HCLOUD_TOKEN=", "GITHUB_TOKEN=", "PASSWORD="] : strcontains(output.cloud_init, name)])
    error_message = "a secret is in the cloud-init"
  }
  assert {
    condition     = length(output.cloud_init) <= 32768
    error_message = "longer than Hetzner Cloud takes"
  }
  assert {
    condition     = output.runner_labels == ["self-hosted", "hub"]
    error_message = "labels of the runner"
  }
}

run "starts_only_what_is_configured" {
  command = plan

  assert {
    condition = length(setsubtract(
      slice(yamldecode(output.cloud_init).runcmd[6], 3, 6),
      [for file in yamldecode(output.cloud_init).write_files : basename(file.path) if startswith(file.path, "/etc/systemd/system/")]
    )) == 0
    error_message = "something is started that is not written"
  }
}

run "joins_a_network_that_gets_nowhere" {
  command = plan

  variables {
    network = { id = "101", ip_range = "10.20.0.0/16" }
  }

  assert {
    condition     = one(hcloud_server.hub.network).network_id == 101
    error_message = "it is in no network"
  }
  assert {
    condition = (
      strcontains(module.host.written["/etc/nftables.conf"].content, "ip saddr 10.20.0.0/16 drop\n    tcp dport 22 accept\n")
    )
    error_message = "Hetzner's firewall does not look at a private network, and nftables lets it in"
  }
}

run "is_no_runner_if_not_asked" {
  command = plan

  variables {
    runner_program = null
    reboot_at      = ""
    protected      = false
    backups        = false
  }

  assert {
    condition     = !contains(keys(module.host.written), "/etc/systemd/system/nightshift-actions.service") && !contains(keys(module.host.written), "/usr/local/sbin/nightshift-enrol")
    error_message = "the cloud-init makes it a runner"
  }
  assert {
    condition     = strcontains(module.host.written["/etc/apt/apt.conf.d/90-nightshift"].content, "Automatic-Reboot \"false\"")
    error_message = "it boots by itself"
  }
  assert {
    condition     = !hcloud_server.hub.delete_protection && !hcloud_volume.data.delete_protection && !hcloud_server.hub.backups
    error_message = "protection and backups"
  }
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

run "refuses_a_pipeline_that_is_no_label" {
  command = plan

  variables {
    pipeline = ""
  }

  expect_failures = [var.pipeline]
}

run "refuses_a_name_of_no_host" {
  command = plan

  variables {
    name = "Hub_1"
  }

  expect_failures = [var.name]
}

run "refuses_a_type_of_another_architecture" {
  command = plan

  variables {
    server_type = "cax21"
  }

  expect_failures = [var.server_type]
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

run "refuses_a_volume_that_is_too_small" {
  command = plan

  variables {
    volume_gb = 5
  }

  expect_failures = [var.volume_gb]
}

run "refuses_half_a_gigabyte" {
  command = plan

  variables {
    volume_gb = 10.5
  }

  expect_failures = [var.volume_gb]
}

run "refuses_a_time_that_is_none" {
  command = plan

  variables {
    reboot_at = "24:00"
  }

  expect_failures = [var.reboot_at]
}

run "refuses_a_network_without_addresses" {
  command = plan

  variables {
    network = { id = "101", ip_range = "private" }
  }

  expect_failures = [var.network]
}

run "installs_what_creates_the_servers_of_nights" {
  command = plan

  variables {
    terraform = {
      program  = { url = "https://github.example/tofu.zip", sha256 = "e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f" }
      provider = { url = "https://github.example/hcloud.zip", sha256 = "00f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f" }
      bucket   = "states"
      endpoint = "https://s3.example"
    }
  }

  assert {
    condition     = contains(yamldecode(output.cloud_init).runcmd, ["nightshift-terraform"])
    error_message = "it is not installed"
  }
  assert {
    condition     = strcontains(module.host.written["/etc/nightshift/terraform.env"].content, "PROGRAM='https://github.example/tofu.zip'\nPROGRAM_SHA256='e0f9")
    error_message = "what is installed"
  }
  assert {
    condition     = module.host.written["/etc/nightshift/nights.tfbackend"].content == "bucket = \"states\"\nendpoints = { s3 = \"https://s3.example\" }\n"
    error_message = "where states are"
  }
  assert {
    condition     = strcontains(module.host.written["/etc/nightshift/actions.env"].content, "NIGHTSHIFT_STATE=/etc/nightshift/nights.tfbackend\nTF_CLI_ARGS_init=-plugin-dir=/usr/local/lib/nightshift/providers\n")
    error_message = "jobs on the hub do not find it"
  }
}

run "refuses_a_program_without_sum" {
  command = plan

  variables {
    terraform = {
      program  = { url = "https://github.example/tofu.zip", sha256 = "" }
      provider = { url = "https://github.example/hcloud.zip", sha256 = "00f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f" }
      bucket   = "states"
      endpoint = "https://s3.example"
    }
  }

  expect_failures = [var.terraform]
}
