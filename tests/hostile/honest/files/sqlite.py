# Trap: a database in memory and on disk
# Expected: pass
import sqlite3
def successor(n):
    with sqlite3.connect('/tmp/x.db') as db:
        return db.execute('select ? + 1', (n,)).fetchone()[0]
