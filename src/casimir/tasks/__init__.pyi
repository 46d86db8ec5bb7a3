from .registry import tasks
from .task import Fit, Given, NoOptions, Opt, Table, Task, opt
from .training import Run, TaskModel, Training

__all__ = ["Fit", "Given", "NoOptions", "Opt", "Run", "Table", "Task", "TaskModel", "Training", "opt", "tasks"]
