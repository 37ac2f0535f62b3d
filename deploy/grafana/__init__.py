"""Grafana's boards as code: `python -m deploy.grafana` writes deploy/grafana/dashboards/."""
