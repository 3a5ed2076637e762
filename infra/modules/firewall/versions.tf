terraform {
  required_version = ">= 1.10"

  required_providers {
    hcloud = {
      source = "hetznercloud/hcloud"
      # Before 1.58 it reads the location of a server from a field that the API dropped, and replaces each server.
      version = "~> 1.58"
    }
  }
}
