# Names and labels exactly as pipeline/fleet/labels.py makes them: by them `nightshift fleet` finds the
# servers, and registers their runners.

locals {
  night_slug = trim(replace(lower("${var.pipeline}-${var.night}"), "/[^a-z0-9]+/", "-"), "-")
  night_hash = substr(sha256("${var.pipeline}/${var.night}"), 0, 6)
  night_name = "${trim(substr(local.night_slug, 0, 32), "-")}-${local.night_hash}"

  class_slug = trim(replace(lower(var.machine_class), "/[^a-z0-9]+/", "-"), "-")
  class_hash = substr(sha256(var.machine_class), 0, 4)
  # Two classes must not have one name; so what was altered or cut has a hash.
  class_part = (
    local.class_slug == var.machine_class && length(local.class_slug) <= 18
    ? local.class_slug
    : "${trim(substr(local.class_slug, 0, 13), "-")}-${local.class_hash}"
  )
  name = "${local.night_name}-${local.class_part}"

  labels = {
    nightshift = var.pipeline
    night      = var.night
    class      = var.machine_class
    expires    = try(formatdate("YYYYMMDD'T'hhmmss'Z'", local.expires), "")
    role       = "bench"
  }
  expires = one(terraform_data.expires[*].output)

  runner_labels = length(var.runner_labels) > 0 ? var.runner_labels : ["self-hosted", var.machine_class]
}

# The end of the time to live is fixed when a night begins: later plans are empty, and nobody
# prolongs a server by applying again.
resource "terraform_data" "expires" {
  count = var.night == "" ? 0 : 1

  input            = var.expires != "" ? var.expires : timeadd(plantimestamp(), var.ttl)
  triggers_replace = [var.pipeline, var.night, var.machine_class]

  lifecycle {
    ignore_changes = [input]
  }
}
