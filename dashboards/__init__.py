"""Grafana dashboards as code: ``python -m dashboards`` writes ``dashboards/json``.

One module for each dashboard. They are built from ``promql`` (expressions), ``variables``,
``links``, ``panels`` (with ``look``: colours and limits), and ``board`` (the layout of panels).
Metric names come from :mod:`pipeline.publish.names`, so that none can be misspelt.
"""
