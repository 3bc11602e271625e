from sample_record import record

__all__ = ["record"]
