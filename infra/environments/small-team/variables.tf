variable "pipeline" {
  description = "Value of the label nightshift: [fleet] name of nightshift.toml. The reaper of that name deletes the servers."
  type        = string
  default     = "nightshift"
  nullable    = false
}

variable "repository" {
  description = "The repository on GitHub that the hub is a runner of, which holds nightshift.toml."
  type        = string
  nullable    = false
}

variable "nightshift" {
  description = "The nightshift that is installed at /opt/nightshift: a git repository that can be read without a password, and a commit or tag of it."
  type        = object({ repository = string, revision = string })
  nullable    = false
}

variable "runner_program" {
  description = "The runner program for Linux on x64: its address and its SHA-256, both as GitHub lists them. Null until there are runners."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "terraform" {
  description = "What creates the servers of nights from the hub: archives of Terraform or OpenTofu and of its provider hcloud for Linux on x64, each by address and SHA-256, and the bucket of the states."
  type = object({
    program  = object({ url = string, sha256 = string })
    provider = object({ url = string, sha256 = string })
    bucket   = string
    endpoint = string
  })
  default = null
}

variable "admin_cidrs" {
  description = "Addresses that SSH is let in from, in CIDR notation. Grafana and Prometheus are reached by a tunnel through it."
  type        = list(string)
  nullable    = false
}

variable "ssh_keys" {
  description = "Public keys of the account admin, by a name for each, who may become root. At least one."
  type        = map(string)
  nullable    = false
}

variable "locations" {
  description = "Where servers are made: the hub, its volume and what Terraform makes in the first, the nights' in the first that has one."
  type        = list(string)
  default     = ["fsn1", "nbg1", "hel1"]
  nullable    = false

  validation {
    condition     = length(var.locations) > 0 && alltrue([for location in var.locations : can(regex("^[a-z]{3}[0-9]?$", location))])
    error_message = "One location or more is needed: write short names, as fsn1, nbg1 or hel1."
  }
}

variable "hub_type" {
  description = "Type of the hub. A hub measures nothing, so that shared processors do."
  type        = string
  default     = "cx33"
  nullable    = false
}

variable "volume_gb" {
  description = "Size of the volume in GB, which holds results, store, and what Prometheus and Grafana keep. It can grow, and never shrinks."
  type        = number
  default     = 50
  nullable    = false
}

variable "protected" {
  description = "Whether server and volume refuse to be deleted, also by hand. False only to replace the server."
  type        = bool
  default     = true
  nullable    = false
}

variable "bench_type" {
  description = "Type of the benches, one with processors of its own; their machine class has its name."
  type        = string
  default     = "ccx33"
  nullable    = false

  validation {
    condition     = can(regex("^ccx[1-6]3$", var.bench_type))
    error_message = "Write one from ccx13 to ccx63."
  }
}

variable "bench_count" {
  description = "Benches that measure at once."
  type        = number
  default     = 2
  nullable    = false
}

variable "per_night" {
  description = "What the servers of a night may cost, as [fleet] per_night; empty for no budget."
  type        = string
  default     = "5 EUR"
  nullable    = false

  validation {
    condition     = var.per_night == "" || can(regex("^[0-9]+(\\.[0-9]+)? [A-Z]{3}$", var.per_night))
    error_message = "No sum: write a number and the code of a currency, as 5 EUR."
  }
}

variable "per_month" {
  description = "What all servers of a calendar month may cost, as [fleet] per_month; empty for no budget."
  type        = string
  default     = "60 EUR"
  nullable    = false

  validation {
    condition     = var.per_month == "" || can(regex("^[0-9]+(\\.[0-9]+)? [A-Z]{3}$", var.per_month))
    error_message = "No sum: write a number and the code of a currency, as 60 EUR."
  }
}
