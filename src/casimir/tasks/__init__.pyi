from .registry import tasks
from .task import Fit, Given, NoOptions, Opt, Table, Task
from .training import Run, TaskModel

__all__ = ["Fit", "Given", "NoOptions", "Opt", "Run", "Table", "Task", "TaskModel", "tasks"]
