terraform {
  required_version = ">= 1.10"

  required_providers {
    hcloud = {
      source = "hetznercloud/hcloud"
      # Before 1.58 it reads the location of a server from a field that the API dropped, and replaces each server.
      version = "~> 1.58"
    }
  }

  # The state is in a bucket of Hetzner Object Storage: `init -backend-config=backend.tfbackend` names it.
  backend "s3" {
    key = "nightshift/pipeline.tfstate"
    # The lock is an object beside the state, written on the condition that it is not there.
    use_lockfile = true
    # It is not Amazon's: its locations are no regions, and it has no accounts, roles and metadata
    # service to ask. Checksums of Amazon's kind are refused by some of the others.
    region                      = "main"
    skip_region_validation      = true
    skip_credentials_validation = true
    skip_requesting_account_id  = true
    skip_metadata_api_check     = true
    skip_s3_checksum            = true
  }
}

# The token is in HCLOUD_TOKEN alone: what is no variable gets into no state and no file.
provider "hcloud" {}
