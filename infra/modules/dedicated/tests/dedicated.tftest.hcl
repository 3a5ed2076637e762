variables {
  hosts = {
    ax1   = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48", robot_number = 321 }
    ax2   = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.49", robot_number = 322 }
    tower = { class = "7049a-t", cores = 24, memory_gb = 64, address = "2001:db8::24", drives = ["nvme0n1"], smt = true }
  }
  repository = "me/bench"
  nightshift = { repository = "https://github.example/me/nightshift.git", revision = "v1.2.0" }
  runner_program = {
    url    = "https://github.example/actions-runner-linux-x64-2.330.0.tar.gz"
    sha256 = "e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f"
  }
  admin_cidrs = ["203.0.113.7/32", "2001:db8:1::/48"]
  ssh_keys    = { me = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3Q= me@laptop" }
}

run "puts_out_each_class_once" {
  command = plan

  assert {
    condition = output.classes == [
      { name = "7049a-t", cores = 24, memory_gb = 64, runner = ["self-hosted", "7049a-t"], server_type = "", count = 1 },
      { name = "ax162-s", cores = 48, memory_gb = 128, runner = ["self-hosted", "ax162-s"], server_type = "", count = 2 },
    ]
    error_message = "output classes"
  }
  assert {
    condition     = output.runner_labels == { "7049a-t" = ["self-hosted", "7049a-t"], "ax162-s" = ["self-hosted", "ax162-s"] }
    error_message = "labels of the runners"
  }
}

run "configures_the_installer" {
  command = plan

  assert {
    condition     = output.hosts["ax1"].autosetup == <<-EOT
      DRIVE1 /dev/nvme0n1
      DRIVE2 /dev/nvme1n1
      SWRAID 1
      SWRAIDLEVEL 1
      BOOTLOADER grub
      HOSTNAME ax1
      PART /boot/efi esp 256M
      PART /boot ext4 1G
      PART / ext4 all
      IMAGE /root/images/Debian-bookworm-latest-amd64-base.tar.gz
    EOT
    error_message = "autosetup"
  }
  assert {
    condition     = output.hosts["tower"].autosetup == null
    error_message = "a host of one's own is not installed by Hetzner's installer"
  }
}

run "installs_one_drive_without_raid" {
  command = plan

  variables {
    hosts = { ax1 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48", robot_number = 321, drives = ["nvme0n1"] } }
  }

  assert {
    condition     = strcontains(output.hosts["ax1"].autosetup, "DRIVE1 /dev/nvme0n1\nSWRAID 0\nBOOTLOADER")
    error_message = "autosetup of one drive"
  }
}

run "turns_off_multithreading_before_the_first_boot" {
  command = plan

  assert {
    condition     = strcontains(output.hosts["ax1"].post_install, "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX nosmt\"")
    error_message = "two threads would share a core"
  }
  assert {
    condition     = !strcontains(output.hosts["tower"].post_install, "nosmt")
    error_message = "multithreading was to stay"
  }
}

run "hands_cloud_init_what_it_does" {
  command = plan

  assert {
    condition     = strcontains(output.hosts["ax1"].post_install, base64encode(output.hosts["ax1"].cloud_init))
    error_message = "the cloud-init differs"
  }
  assert {
    condition = [
      for line in split("\n", module.host["ax1"].written["/etc/nftables.conf"].content) : trimspace(line) if strcontains(line, "dport 22")
    ] == ["ip6 saddr 2001:db8:1::/48 tcp dport 22 accept", "ip saddr 203.0.113.7/32 tcp dport 22 accept"]
    error_message = "who is let in: nothing stands in front of such a host"
  }
  assert {
    condition     = contains(yamldecode(output.hosts["ax1"].cloud_init).runcmd, ["systemctl", "enable", "--now", "nightshift-tune.service"])
    error_message = "it is not tuned"
  }
  assert {
    condition = { for file in yamldecode(output.hosts["tower"].cloud_init).write_files : file.path => file.content if startswith(file.path, "/etc/nightshift/actions") } == {
      "/etc/nightshift/actions.env" = "NIGHTSHIFT_MACHINE_CLASS=7049a-t\n"
    }
    error_message = "its jobs do not know their class"
  }
  assert {
    condition     = strcontains(module.host["ax2"].written["/etc/nightshift/enrol.env"].content, "NAME='ax2'\nLABELS='ax162-s'\nACCOUNT='runner'\n")
    error_message = "what the runner is registered as"
  }
}

run "says_how_a_host_is_made_anew" {
  command = plan

  assert {
    condition     = alltrue([for part in ["/boot/321/rescue", "/reset/321", "root@192.0.2.48", "--netrc-file"] : strcontains(output.hosts["ax1"].instructions, part)])
    error_message = "instructions by Robot"
  }
  assert {
    condition     = !strcontains(output.hosts["ax1"].instructions, "--user") && !strcontains(output.hosts["tower"].instructions, "robot")
    error_message = "a password would be in a list of processes, or Robot be asked for a host that it does not know"
  }
}

run "needs_no_host" {
  command = plan

  variables {
    hosts = {}
  }

  assert {
    condition     = length(output.classes) == 0 && length(output.hosts) == 0
    error_message = "outputs without hosts"
  }
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

run "refuses_nobody_with_a_key" {
  command = plan

  variables {
    ssh_keys = {}
  }

  expect_failures = [var.ssh_keys]
}

run "refuses_to_let_nobody_in" {
  command = plan

  variables {
    admin_cidrs = []
  }

  expect_failures = [var.admin_cidrs]
}

run "refuses_an_image_in_another_place" {
  command = plan

  variables {
    image = "../Debian-bookworm-latest-amd64-base.tar.gz"
  }

  expect_failures = [var.image]
}

run "refuses_a_kernel_parameter_that_is_a_command" {
  command = plan

  variables {
    kernel_parameters = ["quiet$(reboot)"]
  }

  expect_failures = [var.kernel_parameters]
}

run "refuses_a_host_of_no_name" {
  command = plan

  variables {
    hosts = { AX_1 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48" } }
  }

  expect_failures = [var.hosts]
}

run "refuses_a_class_that_is_no_label" {
  command = plan

  variables {
    hosts = { ax1 = { class = "ax 162", cores = 48, memory_gb = 128, address = "192.0.2.48" } }
  }

  expect_failures = [var.hosts]
}

run "refuses_half_a_core" {
  command = plan

  variables {
    hosts = { ax1 = { class = "ax162-s", cores = 0.5, memory_gb = 128, address = "192.0.2.48" } }
  }

  expect_failures = [var.hosts]
}

run "refuses_no_memory" {
  command = plan

  variables {
    hosts = { ax1 = { class = "ax162-s", cores = 48, memory_gb = 0, address = "192.0.2.48" } }
  }

  expect_failures = [var.hosts]
}

run "refuses_a_class_of_unequal_hosts" {
  command = plan

  variables {
    hosts = {
      ax1 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48" }
      ax2 = { class = "ax162-s", cores = 48, memory_gb = 256, address = "192.0.2.49" }
    }
  }

  expect_failures = [var.hosts]
}

run "refuses_one_address_twice" {
  command = plan

  variables {
    hosts = {
      ax1 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48" }
      ax2 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48" }
    }
  }

  expect_failures = [var.hosts]
}

run "refuses_a_name_as_address" {
  command = plan

  variables {
    hosts = { ax1 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "ax1.example" } }
  }

  expect_failures = [var.hosts]
}

run "refuses_a_number_that_robot_does_not_have" {
  command = plan

  variables {
    hosts = { ax1 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48", robot_number = 0 } }
  }

  expect_failures = [var.hosts]
}

run "refuses_a_host_without_drives" {
  command = plan

  variables {
    hosts = { ax1 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48", drives = [] } }
  }

  expect_failures = [var.hosts]
}

run "refuses_a_path_of_a_drive" {
  command = plan

  variables {
    hosts = { ax1 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48", drives = ["/dev/sda"] } }
  }

  expect_failures = [var.hosts]
}

run "refuses_a_raid_of_another_level" {
  command = plan

  variables {
    hosts = { ax1 = { class = "ax162-s", cores = 48, memory_gb = 128, address = "192.0.2.48", raid = 5 } }
  }

  expect_failures = [var.hosts]
}
