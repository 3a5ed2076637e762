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

  # A branch is another program tomorrow.
  validation {
    condition     = can(regex("^https://[A-Za-z0-9./_-]+$", var.nightshift.repository)) && can(regex("^([0-9a-f]{40}|v[0-9][0-9A-Za-z.-]*)$", var.nightshift.revision))
    error_message = "The repository begins with https://, and the revision is a commit of 40 hexadecimal digits or a tag as v1.2.0."
  }
}

variable "admin_cidrs" {
  description = "Addresses that SSH is let in from, in CIDR notation. Grafana and Prometheus are reached by a tunnel through it."
  type        = list(string)
  nullable    = false

  validation {
    condition = length(var.admin_cidrs) > 0 && alltrue([
      for cidr in var.admin_cidrs :
      can(cidrhost(cidr, 0)) && try(split("/", cidr)[1] >= (strcontains(cidr, ":") ? 32 : 16), false)
    ])
    error_message = "Somebody has to come in, and never the world: write addresses as 203.0.113.7/32 or 2001:db8::/48, with at least 16 bits of IPv4 and 32 of IPv6."
  }
}

variable "ssh_keys" {
  description = "Public keys of the account admin, by a name for each, who may become root. At least one."
  type        = map(string)
  nullable    = false

  validation {
    condition = length(var.ssh_keys) > 0 && alltrue([
      for key in values(var.ssh_keys) :
      can(regex("^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\\.com|sk-ecdsa-sha2-nistp256@openssh\\.com) [A-Za-z0-9+/]+={0,2}( [^\n]*)?$", key))
    ])
    error_message = "One public key or more is needed, there are no passwords: write the line of a file as id_ed25519.pub."
  }
}

variable "repository" {
  description = "The repository on GitHub that a hub's results are of."
  type        = string
  default     = "me/trial"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_][A-Za-z0-9._-]*$", var.repository))
    error_message = "No repository on GitHub: write its owner and its name, as me/bench."
  }
}

variable "ttl" {
  description = "Time to live of the bench, in hours or minutes: the reaper (`nightshift fleet reap`) deletes what is older."
  type        = string
  default     = "8h"
  nullable    = false

  validation {
    condition = can(regex("^[1-9][0-9]{0,3}[hm]$", var.ttl)) && try(
      timecmp(timeadd("2000-01-01T00:00:00Z", var.ttl), "2000-01-08T00:00:00Z") <= 0, false
    )
    error_message = "No time to live: write hours or minutes, a week at most, as 8h or 90m."
  }
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

  # The runner program is taken for x86: no cax.
  validation {
    condition     = can(regex("^(ccx|cpx|cx)[0-9]{2}$", var.hub_type))
    error_message = "No type of a server with x86 processors: write one as cx23."
  }
}

variable "location" {
  description = "Where servers are made."
  type        = string
  default     = "fsn1"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{3}[0-9]?$", var.location))
    error_message = "No location: write its short name, as fsn1, nbg1, hel1, ash, hil or sin."
  }
}
