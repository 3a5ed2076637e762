variable "name" {
  description = "Name of the firewall, unique in the project."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", var.name))
    error_message = "No name: write up to 63 lower-case letters, digits and dashes, the first and the last a letter or a digit."
  }
}

variable "labels" {
  description = "Labels of the firewall: at least nightshift, whose value names the owner."
  type        = map(string)
  nullable    = false

  validation {
    condition = contains(keys(var.labels), "nightshift") && alltrue([
      for value in values(var.labels) : can(regex("^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", value))
    ])
    error_message = "The label nightshift has to be there, and every value has up to 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit."
  }
}

variable "admin_cidrs" {
  description = "Addresses that SSH is let in from, in CIDR notation; empty lets nobody in. Grafana and Prometheus listen on loopback: an SSH tunnel reaches them."
  type        = list(string)
  default     = []
  nullable    = false

  # A prefix of 0 bits is the world however it is written, and halves of the world are no less.
  validation {
    condition = alltrue([
      for cidr in var.admin_cidrs :
      can(cidrhost(cidr, 0)) && try(split("/", cidr)[1] >= (strcontains(cidr, ":") ? 32 : 16), false)
    ])
    error_message = "SSH is never open to the world: write addresses as 203.0.113.7/32 or 2001:db8::/48, with at least 16 bits of IPv4 and 32 of IPv6."
  }
  validation {
    condition     = alltrue([for cidr in var.admin_cidrs : try("${cidrhost(cidr, 0)}/${split("/", cidr)[1]}" == cidr, true)])
    error_message = "An address has bits behind its prefix, or is not in its shortest form: write 203.0.113.0/24, not 203.0.113.7/24."
  }
}
