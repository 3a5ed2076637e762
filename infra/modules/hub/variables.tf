variable "pipeline" {
  description = "Value of the label nightshift: [fleet] name of nightshift.toml. What the hub's reaper deletes has it, too."
  type        = string
  default     = "nightshift"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", var.pipeline))
    error_message = "No label: write up to 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit."
  }
}

variable "name" {
  description = "Name of the hub, unique in the project."
  type        = string
  default     = "nightshift-hub"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,47}[a-z0-9])?$", var.name))
    error_message = "No name of a host: write up to 49 lower-case letters, digits and dashes, the first and the last a letter or a digit."
  }
}

variable "repository" {
  description = "The repository on GitHub that the hub is a runner of, which holds nightshift.toml."
  type        = string
  nullable    = false
}

variable "github_url" {
  description = "Address of GitHub, or of a GitHub Enterprise Server."
  type        = string
  default     = "https://github.com"
  nullable    = false
}

variable "nightshift" {
  description = "The nightshift that is installed at /opt/nightshift: a git repository that can be read without a password, and a commit or tag of it."
  type        = object({ repository = string, revision = string })
  nullable    = false
}

variable "runner_program" {
  description = "The runner program for Linux on x64: its address and its SHA-256, both as GitHub lists them. Null for a hub that is no runner."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "terraform" {
  description = "What creates the servers of nights from the hub: archives of Terraform or OpenTofu and of its provider hcloud for Linux on x64, each by address and SHA-256, and the bucket of the states. Null for a hub whose nights rent none."
  type = object({
    program  = object({ url = string, sha256 = string })
    provider = object({ url = string, sha256 = string })
    bucket   = string
    endpoint = string
  })
  default = null

  validation {
    condition = var.terraform == null || try(
      alltrue([
        for archive in [var.terraform.program, var.terraform.provider] :
        can(regex("^https://[A-Za-z0-9./_%-]+\\.zip$", archive.url)) && can(regex("^[0-9a-f]{64}$", archive.sha256))
      ]),
      false
    )
    error_message = "An address begins with https:// and ends with .zip, and a SHA-256 has 64 hexadecimal digits."
  }
}

variable "server_type" {
  description = "Type of the server. A hub measures nothing, so that shared processors do."
  type        = string
  default     = "cx33"
  nullable    = false

  # The runner program is taken for x86: no cax.
  validation {
    condition     = can(regex("^(ccx|cpx|cx)[0-9]{2}$", var.server_type))
    error_message = "No type of a server with x86 processors: write one as cx33."
  }
}

variable "location" {
  description = "Where the server and its volume are."
  type        = string
  default     = "fsn1"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{3}[0-9]?$", var.location))
    error_message = "No location: write its short name, as fsn1, nbg1, hel1, ash, hil or sin."
  }
}

variable "image" {
  description = "Image or snapshot that the server begins with: Debian 12, or a descendant."
  type        = string
  default     = "debian-12"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]*$", var.image))
    error_message = "No image: write its name or number, as debian-12."
  }
}

variable "volume_gb" {
  description = "Size of the volume in GB, which holds results, store, and what Prometheus and Grafana keep. It can grow, and never shrinks."
  type        = number
  default     = 50
  nullable    = false

  validation {
    condition     = var.volume_gb >= 10 && var.volume_gb <= 10240 && floor(var.volume_gb) == var.volume_gb
    error_message = "A volume has 10 to 10240 GB."
  }
}

variable "backups" {
  description = "Whether Hetzner keeps seven daily images of the server's own disk. They do not hold the volume: that is for `nightshift backup`."
  type        = bool
  default     = true
  nullable    = false
}

variable "protected" {
  description = "Whether server and volume refuse to be deleted, also by hand. False only to replace the server."
  type        = bool
  default     = true
  nullable    = false
}

variable "reboot_at" {
  description = "When the hub boots again after a security update that needs it, UTC, where no night is under way. Empty for never."
  type        = string
  default     = "12:00"
  nullable    = false

  validation {
    condition     = can(regex("^(([01][0-9]|2[0-3]):[0-5][0-9])?$", var.reboot_at))
    error_message = "No time of the day: write one as 12:00."
  }
}

variable "network" {
  description = "The private network that the hub joins, as the module network puts it out. Null for none."
  type        = object({ id = string, ip_range = string })
  default     = null

  validation {
    condition     = var.network == null || try(can(cidrhost(var.network.ip_range, 0)), false)
    error_message = "No range of addresses: take the output network of the module network."
  }
}

variable "admin_cidrs" {
  description = "Addresses that SSH is let in from, in CIDR notation; see the module firewall. Grafana and Prometheus listen on loopback: an SSH tunnel reaches them."
  type        = list(string)
  nullable    = false

  validation {
    condition     = length(var.admin_cidrs) > 0
    error_message = "Somebody has to come in: write addresses as 203.0.113.7/32."
  }
}

variable "ssh_keys" {
  description = "Public keys of the account admin, by a name for each, who may become root. At least one."
  type        = map(string)
  nullable    = false

  validation {
    condition     = length(var.ssh_keys) > 0
    error_message = "One public key or more is needed: there are no passwords."
  }
}
