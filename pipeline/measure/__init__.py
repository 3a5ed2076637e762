"""The stages discover, plan, build and run: from available revisions to bundles."""
