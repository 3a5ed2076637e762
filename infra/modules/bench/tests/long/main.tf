# A text of 40,000 letters, which a test may not make itself.

terraform {
  # OpenTofu hands the mock of the tests on, and looks up whose it is.
  required_providers {
    hcloud = {
      source = "hetznercloud/hcloud"
    }
  }
}

output "text" {
  value = join("", [for number in range(1000) : "abcdefghijklmnopqrstuvwxyzabcdefghijklmn"])
}
