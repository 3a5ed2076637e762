"""The sysbench microbenchmarks: catalogue, scripts, commands and the parser of their output."""
