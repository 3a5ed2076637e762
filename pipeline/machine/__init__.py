"""The machine that measures: fingerprint, account, pinning, lease, checks, tuning, disturbances."""
