"""Where answers run: a jail per slot, a fork per program, plain data in and out."""
