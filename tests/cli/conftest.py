from scripted_backend import answer, backend, job, sample, store

__all__ = ["answer", "backend", "job", "sample", "store"]
