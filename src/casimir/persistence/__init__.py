"""Model folders: writing and reading (`folder`), what their arrays mean (`arrays`), a model from any (`load`)."""

from casimir.persistence.folder import FORMAT_VERSION, check_target, load_folder, migrate_folder, save_folder

__all__ = ["FORMAT_VERSION", "check_target", "load_folder", "migrate_folder", "save_folder"]
