#!/usr/bin/env node
/** Starts the gateway: from its sources in a checkout, from the compiled modules in a package. */
import { existsSync } from "node:fs"

const source = new URL("../src/main.ts", import.meta.url)
await import((existsSync(source) ? source : new URL("../dist/mcp/main.js", import.meta.url)).href)
