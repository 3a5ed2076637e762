# A text of 40,000 letters, which a test may not make itself.

terraform {
  required_version = ">= 1.10"

  # OpenTofu hands the mock of the tests on, and looks up whose it is.
  required_providers {
    hcloud = {
      source  = "hetznercloud/hcloud"
      version = "~> 1.58"
    }
  }
}

output "text" {
  description = "The text."
  value       = join("", [for number in range(1000) : "abcdefghijklmnopqrstuvwxyzabcdefghijklmn"])
}
