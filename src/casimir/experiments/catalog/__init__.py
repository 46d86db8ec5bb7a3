"""The experiments, one file each, with an `Experiment` called EXPERIMENT. A new file is a new experiment."""
