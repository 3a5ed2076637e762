"""Grafana dashboards as code: ``python -m dashboards`` writes ``dashboards/json``.

One module for each dashboard. What they are built from: ``promql`` (expressions), ``variables``,
``links``, ``panels`` (with ``look``: colours and limits), ``board`` (what puts panels in place).
Names of metrics come from :mod:`pipeline.publish.names`, so that none can be misspelt.
"""
