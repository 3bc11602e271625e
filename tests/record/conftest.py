from record_builders import record

__all__ = ["record"]
