# Every rule that tflint itself has for Terraform's language, also those for documentation and names.
plugin "terraform" {
  enabled = true
  preset  = "all"
}
