from record_builders import record
from scripted_backend import answer, backend, job, sample, store

__all__ = ["answer", "backend", "job", "record", "sample", "store"]
