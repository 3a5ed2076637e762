variable "size" {
  description = "What is made: bench or hub, a trial of one server; small-team, a hub and a class of benches; seeds, the classes of the published reports. The files in sizes/ have its other values."
  type        = string
  nullable    = false

  validation {
    condition     = contains(["bench", "hub", "small-team", "seeds"], var.size)
    error_message = "Write bench, hub, small-team or seeds, or use a file of sizes/."
  }
}

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

variable "benches" {
  description = "Machine classes of cloud servers: a type with processors of its own, and how many measure at once."
  type        = map(number)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for kind in keys(var.benches) : can(regex("^ccx[1-6]3$", kind))])
    error_message = "Name types from ccx13 to ccx63."
  }
  validation {
    condition     = alltrue([for count in values(var.benches) : count >= 1 && count <= 50 && floor(count) == count])
    error_message = "A class has 1 to 50 benches."
  }
}

variable "night" {
  description = "Name of the night that a trial bench is for: another one makes another bench."
  type        = string
  default     = "trial"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", var.night))
    error_message = "No label: write up to 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit, as 2026-03-01."
  }
}

variable "ttl" {
  description = "Time to live of a trial bench, in hours or minutes: the reaper (`nightshift fleet reap`) deletes what is older."
  type        = string
  default     = "8h"
  nullable    = false
}

variable "vswitch" {
  description = "vSwitch by which hub and dedicated hosts of Hetzner's see one another: its number in Robot, and its addresses within 10.20.0.0/16. Null without one."
  type        = object({ id = number, ip_range = string })
  default     = null
}

variable "hosts" {
  description = "The dedicated hosts by name; see the module dedicated. The size seeds has at least one with 24 processors and one with 48."
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
  default  = {}
  nullable = false

  validation {
    condition     = var.size != "seeds" || length(setsubtract([24, 48], values(var.hosts)[*].cores)) == 0
    error_message = "The reports were measured on 24 and on 48 processors, too, which no type of the cloud has as cores: name a host of each."
  }
}

variable "per_night" {
  description = "What the servers of a night may cost, as [fleet] per_night; empty for no budget."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.per_night == "" || can(regex("^[0-9]+(\\.[0-9]+)? [A-Z]{3}$", var.per_night))
    error_message = "No sum: write a number and the code of a currency, as 5 EUR."
  }
}

variable "per_month" {
  description = "What all servers of a calendar month may cost, as [fleet] per_month; empty for no budget."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.per_month == "" || can(regex("^[0-9]+(\\.[0-9]+)? [A-Z]{3}$", var.per_month))
    error_message = "No sum: write a number and the code of a currency, as 60 EUR."
  }
}
