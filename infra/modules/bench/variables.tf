variable "pipeline" {
  description = "Value of the label nightshift: [fleet] name of nightshift.toml. The reaper of that name deletes the servers."
  type        = string
  default     = "nightshift"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", var.pipeline))
    error_message = "No label: write up to 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit."
  }
}

variable "night" {
  description = "Name of the night that the servers are for, never used twice: another one makes other servers. Empty makes none, and the class is still put out."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$", var.night))
    error_message = "No label: write none, or up to 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit, as 2026-03-01."
  }
}

variable "ttl" {
  description = "Time to live from the first apply of a night on, in hours or minutes: the reaper deletes what is older."
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

variable "expires" {
  description = "End of the time to live, in UTC. Empty for ttl after the first apply of a night."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.expires == "" || can(regex("Z$", var.expires)) && can(timecmp(var.expires, var.expires))
    error_message = "No time in UTC: write one as 2026-03-01T09:17:00Z."
  }
}

variable "machine_class" {
  description = "Name of the machine class, as [[class]] name of nightshift.toml."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", var.machine_class))
    error_message = "No name of a class: write up to 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit, as ccx33."
  }
}

variable "cores" {
  description = "Processors of a server, which configurations are scaled to. Null for what a CCX type has."
  type        = number
  default     = null

  validation {
    condition     = var.cores == null ? can(local.types[var.server_type]) : var.cores >= 1 && floor(var.cores) == var.cores
    error_message = "A server has 1 processor or more: write how many, as 8, where its type is not one from ccx13 to ccx63."
  }
}

variable "memory_gb" {
  description = "Memory of a server in GB, which configurations are scaled to. Null for what a CCX type has."
  type        = number
  default     = null

  validation {
    condition     = var.memory_gb == null ? can(local.types[var.server_type]) : var.memory_gb >= 1 && floor(var.memory_gb) == var.memory_gb
    error_message = "A server has 1 GB or more: write how many, as 32, where its type is not one from ccx13 to ccx63."
  }
}

variable "server_type" {
  description = "Type of the servers. CCX types have processors of their own; on others neighbours are measured, too."
  type        = string
  nullable    = false

  # GitHub's runner program is taken for x86: no cax.
  validation {
    condition     = can(regex("^(ccx|cpx|cx)[0-9]{2}$", var.server_type))
    error_message = "No type of a server with x86 processors: write one as ccx33."
  }
}

variable "server_count" {
  description = "Servers of the class that measure at once."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.server_count >= 1 && var.server_count <= 50 && floor(var.server_count) == var.server_count
    error_message = "A class has 1 to 50 servers."
  }
}

variable "location" {
  description = "Where the servers are made."
  type        = string
  default     = "fsn1"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{3}[0-9]?$", var.location))
    error_message = "No location: write its short name, as fsn1, nbg1, hel1, ash, hil or sin."
  }
}

variable "image" {
  description = "Image or snapshot that the servers begin with: Debian 12, or a descendant."
  type        = string
  default     = "debian-12"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]*$", var.image))
    error_message = "No image: write its name or number, as debian-12."
  }
}

variable "packages" {
  description = "Debian packages that the servers are given: a job has no rights to install any. By default those of [fleet] packages."
  type        = list(string)
  default     = ["bison", "ccache", "cmake", "flex", "g++", "git", "make", "patch", "perl", "python3-venv", "sysbench"]
  nullable    = false
}

variable "runner_labels" {
  description = "Labels of the runners, as [[class]] runner; empty for self-hosted and the name of the class."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for label in var.runner_labels : can(regex("^[A-Za-z0-9._-]+$", label))])
    error_message = "No label of a runner: write letters, digits, dots, dashes and underscores."
  }
}

variable "runner_program" {
  description = "The runner program for Linux on x64: its address and its SHA-256, both as GitHub lists them. Null without runners."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "runner_configurations" {
  description = "For each server the configurations of its runners, one for each job, registered just before (generate-jitconfig). Each is good for one job, so each apply that makes servers needs new ones. Empty without runners."
  type        = list(list(string))
  default     = []
  nullable    = false
  sensitive   = true

  validation {
    condition     = contains([0, var.server_count], length(var.runner_configurations))
    error_message = "There is one list of configurations for each of the servers, or none at all."
  }
  validation {
    condition = alltrue([
      for jobs in var.runner_configurations : length(jobs) >= 1 && length(jobs) <= 6 && alltrue([
        for configuration in jobs : can(regex("^[A-Za-z0-9+/]+={0,2}$", configuration))
      ])
    ])
    error_message = "A server does 1 to 6 jobs, and a configuration is Base64, as encoded_jit_config of GitHub's answer."
  }
  validation {
    condition     = length(distinct(flatten(var.runner_configurations))) == length(flatten(var.runner_configurations))
    error_message = "A configuration is there twice: GitHub takes each of them once."
  }
}

variable "nightshift" {
  description = "The nightshift that is installed at /opt/nightshift and tunes the server before the first job: a git repository, and a commit or tag of it. Null for none: jobs bring their own."
  type        = object({ repository = string, revision = string })
  default     = null
}

variable "admin_cidrs" {
  description = "Addresses that SSH is let in from, for a trial without runners; see the module firewall. Empty, as for every bench of a pipeline: no way in, and no SSH server."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.admin_cidrs) == 0 || length(var.runner_configurations) == 0
    error_message = "A bench with runners lets nobody in: a job's code is not yours. Leave admin_cidrs or runner_configurations empty."
  }
}

variable "ssh_keys" {
  description = "Public keys of the account admin, by a name for each; needed with admin_cidrs."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = length(var.admin_cidrs) == 0 || length(var.ssh_keys) > 0
    error_message = "With admin_cidrs somebody needs a key: there are no passwords."
  }
}

variable "project_keys" {
  description = "Names of keys of the project, as [fleet] ssh_keys: with one Hetzner sends no mail with a password of root, which is locked anyway."
  type        = list(string)
  default     = []
  nullable    = false
}
