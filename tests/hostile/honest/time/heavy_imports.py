# Trap: modules that take long to import
# Expected: pass
import asyncio, unittest.mock, xml.etree.ElementTree, email.message, http.client, csv, sqlite3, zoneinfo
def successor(n):
    return n + 1
