# Trap: an event loop
# Expected: pass
import asyncio
async def add(n):
    await asyncio.sleep(0)
    return n + 1
def successor(n):
    return asyncio.run(add(n))
