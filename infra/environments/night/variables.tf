# Written by `nightshift fleet quote --variables` from nightshift.toml. To destroy a night none is
# needed: all of it is in its state.

variable "pipeline" {
  description = "Value of the label nightshift: [fleet] name."
  type        = string
  default     = "nightshift"
  nullable    = false
}

variable "night" {
  description = "Name of the night, never used twice: the id of the workflow run."
  type        = string
  default     = ""
  nullable    = false
}

variable "expires" {
  description = "End of the servers' time to live, in UTC: the reaper deletes them then."
  type        = string
  default     = ""
  nullable    = false
}

variable "image" {
  description = "Image or snapshot that the servers begin with: [fleet] image."
  type        = string
  default     = "debian-12"
  nullable    = false
}

variable "packages" {
  description = "Debian packages that the servers are given: [fleet] packages."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "project_keys" {
  description = "Names of keys of the project: [fleet] ssh_keys."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "runner_program" {
  description = "The runner program for Linux on x64: its address and its SHA-256, both as GitHub lists them."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "classes" {
  description = "The machine classes that are due, by name: what their servers are, and how many."
  type = map(object({
    server_type   = string
    location      = string
    server_count  = number
    cores         = number
    memory_gb     = number
    runner_labels = list(string)
  }))
  default  = {}
  nullable = false
}

variable "runner_configurations" {
  description = "By class, for each server the configurations of its runners, one for each job, registered just before."
  type        = map(list(list(string)))
  default     = {}
  nullable    = false
  sensitive   = true
}
