variable "part" {
  description = "What the machine does, as tools/setup calls it: run measures and is left alone by Debian's timers, hub keeps results."
  type        = string
  nullable    = false

  validation {
    condition     = contains(["run", "hub"], var.part)
    error_message = "Write run or hub."
  }
}

variable "nightshift" {
  description = "The nightshift that is installed at /opt/nightshift: a git repository that can be read without a password, and a commit or tag of it. Null for none."
  type        = object({ repository = string, revision = string })
  default     = null

  # A branch is another program tomorrow.
  validation {
    condition = var.nightshift == null || try(
      can(regex("^https://[A-Za-z0-9./_-]+$", var.nightshift.repository)) && can(regex("^([0-9a-f]{40}|v[0-9][0-9A-Za-z.-]*)$", var.nightshift.revision)),
      false
    )
    error_message = "The repository begins with https://, and the revision is a commit of 40 hexadecimal digits or a tag as v1.2.0."
  }
}

variable "ssh_keys" {
  description = "Public keys of the account admin, by a name for each, who may become root. Without one there is no SSH server."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition = alltrue([
      for key in values(var.ssh_keys) :
      can(regex("^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\\.com|sk-ecdsa-sha2-nistp256@openssh\\.com) [A-Za-z0-9+/]+={0,2}( [^\n]*)?$", key))
    ])
    error_message = "No public key: write the line of a file as id_ed25519.pub."
  }
}

variable "rules" {
  description = "Rules of nftables that let something in."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "runner_program" {
  description = "The runner program for Linux on x64: its address and its SHA-256, both as GitHub lists them. Null without runners."
  type        = object({ url = string, sha256 = string })
  default     = null

  validation {
    condition = var.runner_program == null || try(
      can(regex("^https://[A-Za-z0-9./_%-]+$", var.runner_program.url)) && can(regex("^[0-9a-f]{64}$", var.runner_program.sha256)),
      false
    )
    error_message = "The address begins with https://, and a SHA-256 has 64 hexadecimal digits."
  }
}

variable "enrol" {
  description = "The runner that nightshift-enrol registers: where, its name and labels, and the settings of its jobs. Null for none."
  type        = object({ github_url = string, repository = string, name = string, labels = list(string), settings = list(string) })
  default     = null

  validation {
    condition     = var.enrol == null || can(regex("^https://[A-Za-z0-9.-]+(:[0-9]+)?$", var.enrol.github_url))
    error_message = "No address of GitHub: write one as https://github.com, without a path."
  }
  validation {
    condition     = var.enrol == null || can(regex("^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_][A-Za-z0-9._-]*$", var.enrol.repository))
    error_message = "No repository on GitHub: write its owner and its name, as me/bench."
  }
}

variable "packages" {
  description = "Debian packages that the machine is given besides those that it needs itself."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for package in var.packages : can(regex("^[a-z0-9][a-z0-9+.-]+$", package))])
    error_message = "No package of Debian: write names as sysbench."
  }
}

variable "files" {
  description = "Further files by their paths."
  type        = map(object({ permissions = string, content = string }))
  default     = {}
  nullable    = false
}

variable "before_install" {
  description = "Commands before nightshift is installed."
  type        = list(list(string))
  default     = []
  nullable    = false
}

variable "at_last" {
  description = "Commands at the end."
  type        = list(list(string))
  default     = []
  nullable    = false
}
