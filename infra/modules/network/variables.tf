variable "pipeline" {
  description = "Value of the label nightshift: [fleet] name of nightshift.toml."
  type        = string
  default     = "nightshift"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", var.pipeline))
    error_message = "No label: write up to 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit."
  }
}

variable "name" {
  description = "Name of the network, unique in the project."
  type        = string
  default     = "nightshift"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", var.name))
    error_message = "No name of a host: write up to 63 lower-case letters, digits and dashes, the first and the last a letter or a digit."
  }
}

variable "ip_range" {
  description = "Private addresses of the whole network, in CIDR notation."
  type        = string
  default     = "10.20.0.0/16"
  nullable    = false

  validation {
    condition = can(cidrhost(var.ip_range, 0)) && can(regex(
      "^(10\\.|172\\.(1[6-9]|2[0-9]|3[01])\\.|192\\.168\\.)[0-9.]+/(8|9|1[0-9]|2[0-4])$", var.ip_range
    ))
    error_message = "No private IPv4 range: write one inside 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16, of 8 to 24 bits, as 10.20.0.0/16."
  }
}

variable "subnet_range" {
  description = "Addresses of the cloud servers, a part of ip_range."
  type        = string
  default     = "10.20.1.0/24"
  nullable    = false

  validation {
    condition = (
      can(cidrhost(var.subnet_range, 0)) &&
      try(tonumber(split("/", var.subnet_range)[1]) >= tonumber(split("/", var.ip_range)[1]), false) &&
      try(cidrhost("${split("/", var.subnet_range)[0]}/${split("/", var.ip_range)[1]}", 0) == cidrhost(var.ip_range, 0), false)
    )
    error_message = "Not a part of ip_range: write a range inside it, as 10.20.1.0/24."
  }
}

variable "network_zone" {
  description = "Where the network is: the zone that its servers' location is in."
  type        = string
  default     = "eu-central"
  nullable    = false

  validation {
    condition     = contains(["eu-central", "us-east", "us-west", "ap-southeast"], var.network_zone)
    error_message = "No zone of Hetzner Cloud: write eu-central, us-east, us-west or ap-southeast."
  }
}

variable "vswitch" {
  description = "vSwitch of dedicated hosts that joins the network: its number in Robot, and its addresses, a part of ip_range. Null without one."
  type        = object({ id = number, ip_range = string })
  default     = null

  validation {
    condition = var.vswitch == null || try(
      var.vswitch.id >= 1 && floor(var.vswitch.id) == var.vswitch.id &&
      var.vswitch.ip_range != var.subnet_range &&
      tonumber(split("/", var.vswitch.ip_range)[1]) >= tonumber(split("/", var.ip_range)[1]) &&
      cidrhost("${split("/", var.vswitch.ip_range)[0]}/${split("/", var.ip_range)[1]}", 0) == cidrhost(var.ip_range, 0),
      false
    )
    error_message = "The number of a vSwitch is 1 or more, and its ip_range is a part of the network's that is not subnet_range, as 10.20.2.0/24."
  }
}
