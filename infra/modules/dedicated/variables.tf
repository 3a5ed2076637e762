variable "hosts" {
  description = "The hosts by name: machine class, processors and GB of memory (equal within a class), public address, number in Robot (null where it is not Hetzner's), drives, and whether simultaneous multithreading stays on."
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
    condition     = alltrue([for name in keys(var.hosts) : can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", name))])
    error_message = "No name of a host: write up to 63 lower-case letters, digits and dashes, the first and the last a letter or a digit."
  }
  validation {
    condition     = alltrue([for host in values(var.hosts) : can(regex("^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", host.class))])
    error_message = "No name of a class: write up to 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit, as ax162-s."
  }
  validation {
    condition = alltrue([
      for host in values(var.hosts) :
      host.cores >= 1 && floor(host.cores) == host.cores && host.memory_gb >= 1 && floor(host.memory_gb) == host.memory_gb
    ])
    error_message = "A host has 1 processor and 1 GB or more, and no fractions of them."
  }
  validation {
    condition = alltrue([
      for name in distinct(values(var.hosts)[*].class) :
      length(distinct([for host in values(var.hosts) : "${host.cores} ${host.memory_gb} ${host.smt}" if host.class == name])) == 1
    ])
    error_message = "Hosts of one class have equal hardware: give the others a class of their own."
  }
  validation {
    condition = length(distinct(values(var.hosts)[*].address)) == length(var.hosts) && alltrue([
      for host in values(var.hosts) : can(cidrhost("${host.address}/${strcontains(host.address, ":") ? 128 : 32}", 0))
    ])
    error_message = "Each host has an IP address of its own: write it without a prefix, as 192.0.2.48."
  }
  validation {
    condition = alltrue([
      for host in values(var.hosts) : host.robot_number == null || try(host.robot_number >= 1 && floor(host.robot_number) == host.robot_number, false)
    ])
    error_message = "The number of a server in Robot is 1 or more."
  }
  validation {
    condition = alltrue([
      for host in values(var.hosts) :
      length(host.drives) >= 1 && alltrue([for drive in host.drives : can(regex("^(nvme[0-9]+n[0-9]+|sd[a-z])$", drive))])
    ])
    error_message = "A host has drives: write their names as the rescue system shows them, as nvme0n1."
  }
  validation {
    condition     = alltrue([for host in values(var.hosts) : contains([0, 1], host.raid)])
    error_message = "The software RAID of the drives is of level 0 or 1."
  }
}

variable "repository" {
  description = "The repository on GitHub that the hosts are runners of."
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
  description = "The runner program for Linux on x64: its address and its SHA-256, both as GitHub lists them."
  type        = object({ url = string, sha256 = string })
  nullable    = false
}

variable "admin_cidrs" {
  description = "Addresses that SSH is let in from, in CIDR notation. At least one: no firewall stands before such a host, and nobody else is let in."
  type        = list(string)
  nullable    = false

  validation {
    condition = length(var.admin_cidrs) > 0 && alltrue([
      for cidr in var.admin_cidrs :
      can(cidrhost(cidr, 0)) && try(split("/", cidr)[1] >= (strcontains(cidr, ":") ? 32 : 16), false)
    ])
    error_message = "SSH is open to somebody and never to the world: write addresses as 203.0.113.7/32 or 2001:db8::/48, with at least 16 bits of IPv4 and 32 of IPv6."
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

variable "packages" {
  description = "Debian packages that the hosts are given: a job has no rights to install any. By default those of [fleet] packages."
  type        = list(string)
  default     = ["bison", "ccache", "cmake", "flex", "g++", "git", "make", "patch", "perl", "python3-venv", "sysbench"]
  nullable    = false
}

variable "image" {
  description = "Image of the rescue system that is installed: Debian 12, or a descendant. `ls /root/images` lists them there."
  type        = string
  default     = "Debian-bookworm-latest-amd64-base.tar.gz"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9._-]*-amd64-base\\.tar\\.gz$", var.image))
    error_message = "No image: write the name of a file in /root/images, as Debian-bookworm-latest-amd64-base.tar.gz."
  }
}

variable "kernel_parameters" {
  description = "Parameters of the kernel besides nosmt, as mitigations=off. They are a part of what is measured: a change is another machine."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for parameter in var.kernel_parameters : can(regex("^[a-z][A-Za-z0-9_.-]*(=[A-Za-z0-9_.,:-]+)?$", parameter))])
    error_message = "No parameter of the kernel: write one as mitigations=off."
  }
}
