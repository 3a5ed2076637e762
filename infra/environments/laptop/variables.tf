variable "trial" {
  description = "What is tried: bench, one server to measure on by hand, which a reaper deletes after ttl if one runs, and terraform destroy at any time; or hub, one with Prometheus and Grafana that stays."
  type        = string
  default     = "bench"
  nullable    = false

  validation {
    condition     = contains(["bench", "hub"], var.trial)
    error_message = "Write bench or hub."
  }
}

variable "nightshift" {
  description = "The nightshift that is installed at /opt/nightshift: a git repository that can be read without a password, and a commit or tag of it."
  type        = object({ repository = string, revision = string })
  nullable    = false
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

variable "repository" {
  description = "The repository on GitHub that a hub's results are of."
  type        = string
  default     = "me/trial"
  nullable    = false
}

variable "ttl" {
  description = "Time to live of the bench, in hours or minutes: the reaper (`nightshift fleet reap`) deletes what is older."
  type        = string
  default     = "8h"
  nullable    = false
}

variable "night" {
  description = "Name of the night that the bench is for: another one makes another bench."
  type        = string
  default     = "trial"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", var.night))
    error_message = "No label: write up to 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit, as 2026-03-01."
  }
}

variable "bench_type" {
  description = "Type of the bench, one with processors of its own."
  type        = string
  default     = "ccx13"
  nullable    = false

  validation {
    condition     = can(regex("^ccx[1-6]3$", var.bench_type))
    error_message = "Write one from ccx13 to ccx63."
  }
}

variable "hub_type" {
  description = "Type of the hub. A hub measures nothing, so that shared processors do."
  type        = string
  default     = "cx23"
  nullable    = false
}

variable "location" {
  description = "Where servers are made."
  type        = string
  default     = "fsn1"
  nullable    = false
}
