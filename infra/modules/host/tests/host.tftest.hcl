variables {
  part           = "run"
  nightshift     = { repository = "https://github.example/me/nightshift.git", revision = "v1.2.0" }
  ssh_keys       = { me = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3Q= me@laptop" }
  runner_program = { url = "https://github.example/runner.tar.gz", sha256 = "e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f" }
  enrol          = { github_url = "https://github.com", repository = "me/bench", name = "ax1", labels = ["ax162-s"], settings = [] }
}

run "is_a_quiet_runner" {
  command = plan

  assert {
    condition     = output.cloud_config.users[*].name == ["runner", "admin"] && alltrue(output.cloud_config.users[*].lock_passwd)
    error_message = "the accounts"
  }
  assert {
    condition     = strcontains(output.written["/etc/nightshift/enrol.env"].content, "URL='https://github.com/me/bench'\nNAME='ax1'\nLABELS='ax162-s'\nACCOUNT='runner'\n")
    error_message = "what the runner is registered as"
  }
  assert {
    condition     = strcontains(output.cloud_init, "[\"systemctl\",\"mask\",\"--now\",\"apt-daily.timer\",")
    error_message = "Debian's timers"
  }
}

run "gets_nothing_that_it_does_not_need" {
  command = plan

  variables {
    part           = "hub"
    nightshift     = null
    ssh_keys       = {}
    runner_program = null
  }

  assert {
    condition     = jsonencode([keys(output.written), output.cloud_config.packages]) == jsonencode([["/etc/nftables.conf"], ["ca-certificates", "curl", "nftables"]])
    error_message = "files and packages"
  }
  assert {
    condition     = strcontains(output.cloud_init, "\"disable\",\"--now\",\"ssh.service\"")
    error_message = "nobody has a key, and there is an SSH server"
  }
}

run "refuses_another_part" {
  command = plan

  variables {
    part = "bench"
  }

  expect_failures = [var.part]
}

run "refuses_a_branch" {
  command = plan

  variables {
    nightshift = { repository = "https://github.example/me/nightshift.git", revision = "main" }
  }

  expect_failures = [var.nightshift]
}

run "refuses_a_repository_by_ssh" {
  command = plan

  variables {
    nightshift = { repository = "git@github.example:me/nightshift.git", revision = "v1.2.0" }
  }

  expect_failures = [var.nightshift]
}

run "refuses_a_private_key" {
  command = plan

  variables {
    ssh_keys = { me = "-----BEGIN OPENSSH PRIVATE KEY-----" }
  }

  expect_failures = [var.ssh_keys]
}

run "refuses_a_program_by_http" {
  command = plan

  variables {
    runner_program = { url = "http://github.example/a.tar.gz", sha256 = "e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f" }
  }

  expect_failures = [var.runner_program]
}

run "refuses_a_program_that_is_a_command" {
  command = plan

  variables {
    runner_program = { url = "https://github.example/a.tar.gz'; id; '", sha256 = "e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f" }
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

run "refuses_a_path_behind_github" {
  command = plan

  variables {
    enrol = { github_url = "https://github.com/me", repository = "me/bench", name = "ax1", labels = ["a"], settings = [] }
  }

  expect_failures = [var.enrol]
}

run "refuses_a_repository_without_owner" {
  command = plan

  variables {
    enrol = { github_url = "https://github.com", repository = "bench", name = "ax1", labels = ["a"], settings = [] }
  }

  expect_failures = [var.enrol]
}

run "refuses_a_package_of_no_name" {
  command = plan

  variables {
    packages = ["sysbench; id"]
  }

  expect_failures = [var.packages]
}
