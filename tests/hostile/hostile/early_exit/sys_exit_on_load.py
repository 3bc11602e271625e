# Trick: raise SystemExit(0) while loading
# Expected: fail
# Cause: exception
raise SystemExit(0)
