terraform {
  required_version = ">= 1.10"

  required_providers {
    hcloud = {
      source = "hetznercloud/hcloud"
      # Before 1.58 it reads the place of a server where the API no longer tells it, and makes each anew.
      version = "~> 1.58"
    }
  }
}
