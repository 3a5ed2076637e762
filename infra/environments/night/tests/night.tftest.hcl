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
  pipeline     = "team.a"
  night        = "4711"
  expires      = "2099-03-01T09:17:00Z"
  image        = "debian-13"
  packages     = ["sysbench"]
  project_keys = ["me"]
  runner_program = {
    url    = "https://github.example/actions-runner-linux-x64-2.330.0.tar.gz"
    sha256 = "e0f9a4f37de35b9e4dcf0b3a1d2d9f0c8fd3ea0c8d5a1a0f7a1fdc0b1c2d3e4f"
  }
  classes = {
    ccx13 = { server_type = "ccx13", location = "hel1", server_count = 2, cores = 2, memory_gb = 8, runner_labels = ["self-hosted", "small"] }
    big   = { server_type = "cpx51", location = "fsn1", server_count = 1, cores = 16, memory_gb = 32, runner_labels = ["self-hosted", "big"] }
  }
  runner_configurations = { ccx13 = [["b25l", "dHdv"], ["dGhyZWU="]], big = [["Zm91cg=="]] }
}

run "makes_the_servers_of_each_class" {
  command = apply

  assert {
    condition     = keys(output.servers) == ["team-a-4711-ee83b8-big-1", "team-a-4711-ee83b8-ccx13-1", "team-a-4711-ee83b8-ccx13-2"]
    error_message = "names of the servers: pipeline/fleet/labels.py makes others"
  }
  assert {
    condition     = module.bench["ccx13"].expires == "2099-03-01T09:17:00Z" && module.bench["big"].expires == "2099-03-01T09:17:00Z"
    error_message = "the end of the time to live"
  }
  assert {
    condition     = module.bench["ccx13"].runner_labels == tolist(["self-hosted", "small"])
    error_message = "labels of the runners"
  }
  assert {
    condition     = contains(yamldecode(module.bench["big"].cloud_init).packages, "sysbench")
    error_message = "packages of the servers"
  }
}

run "makes_only_what_is_due" {
  command = apply

  variables {
    classes = {
      big = { server_type = "cpx51", location = "fsn1", server_count = 1, cores = 16, memory_gb = 32, runner_labels = ["self-hosted", "big"] }
    }
  }

  assert {
    condition     = keys(output.servers) == ["team-a-4711-ee83b8-big-1"]
    error_message = "a class that is not due has servers"
  }
}
