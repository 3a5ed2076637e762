# What the types with dedicated processors have: https://www.hetzner.com/cloud. A processor is a
# hardware thread of an AMD EPYC, so that ccx33 has four cores.

locals {
  types = {
    ccx13 = { cores = 2, memory_gb = 8 }
    ccx23 = { cores = 4, memory_gb = 16 }
    ccx33 = { cores = 8, memory_gb = 32 }
    ccx43 = { cores = 16, memory_gb = 64 }
    ccx53 = { cores = 32, memory_gb = 128 }
    ccx63 = { cores = 48, memory_gb = 192 }
  }
}
