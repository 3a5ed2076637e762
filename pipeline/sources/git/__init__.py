"""Git repositories as sources: commits of a branch, or tags, with their submodules."""

from pipeline.sources.git.branch import GitBranch
from pipeline.sources.git.tags import GitTags

__all__ = ["GitBranch", "GitTags"]
