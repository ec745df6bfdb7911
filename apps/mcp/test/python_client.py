"""Calls the tools of the server behind a gateway and prints each result as a line of JSON."""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    transport = StdioTransport(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with Client(transport) as client:
        for name, arguments in [("add", {"a": 1, "b": 2}), ("fail", {}), ("poisoned", {})]:
            result = await client.call_tool_mcp(name, arguments)
            print(json.dumps(result.model_dump(by_alias=True, mode="json")))


asyncio.run(main())
