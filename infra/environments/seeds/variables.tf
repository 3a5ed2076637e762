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
  description = "The runner program for Linux on x64: its address and its SHA-256, both as GitHub lists them."
  type        = object({ url = string, sha256 = string })
  nullable    = false
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
  default     = 200
  nullable    = false
}

variable "protected" {
  description = "Whether server and volume refuse to be deleted, also by hand. False only to replace the server."
  type        = bool
  default     = true
  nullable    = false
}

variable "vswitch" {
  description = "vSwitch by which hub and dedicated hosts of Hetzner's see one another: its number in Robot, and its addresses within 10.20.0.0/16. Null without one."
  type        = object({ id = number, ip_range = string })
  default     = null
}

variable "hosts" {
  description = "The dedicated hosts by name, at least one with 24 processors and one with 48; see the module dedicated."
  type = map(object({
    class        = string
    cores        = number
    memory_gb    = number
    address      = string
    robot_number = optional(number)
    drives       = optional(list(string), ["nvme0n1", "nvme1n1"])
    raid         = optional(number, 1)
    smt          = optional(bool, false)
  }))
  nullable = false

  validation {
    condition     = length(setsubtract([24, 48], values(var.hosts)[*].cores)) == 0
    error_message = "The reports were measured on 24 and on 48 processors, too, which no type of the cloud has as cores: name a host of each."
  }
}

variable "bench_counts" {
  description = "Benches of each cloud class that measure at once: ccx33 with 8 processors, ccx53 with 32."
  type        = map(number)
  default     = { ccx33 = 1, ccx53 = 1 }
  nullable    = false

  validation {
    condition = length(setsubtract(["ccx33", "ccx53"], keys(var.bench_counts))) == 0 && length(var.bench_counts) == 2 && alltrue([
      for count in values(var.bench_counts) : count >= 1 && count <= 50 && floor(count) == count
    ])
    error_message = "ccx33 and ccx53 have 1 to 50 benches each."
  }
}

variable "per_night" {
  description = "What the servers of a night may cost, as [fleet] per_night; empty for no budget."
  type        = string
  default     = "12 EUR"
  nullable    = false

  validation {
    condition     = var.per_night == "" || can(regex("^[0-9]+(\\.[0-9]+)? [A-Z]{3}$", var.per_night))
    error_message = "No sum: write a number and the code of a currency, as 12 EUR."
  }
}

variable "per_month" {
  description = "What all servers of a calendar month may cost, as [fleet] per_month; empty for no budget."
  type        = string
  default     = "300 EUR"
  nullable    = false

  validation {
    condition     = var.per_month == "" || can(regex("^[0-9]+(\\.[0-9]+)? [A-Z]{3}$", var.per_month))
    error_message = "No sum: write a number and the code of a currency, as 300 EUR."
  }
}
