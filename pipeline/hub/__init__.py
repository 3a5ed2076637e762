"""The hub: Prometheus and Grafana with this project's configuration, on one machine."""
