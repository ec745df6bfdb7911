/**
 * The embedded database, compiled once in a process of tests. V8 shares compiled code between threads while one of them has the module;
 * without this one, each service would compile it again.
 */
import { readFileSync } from "node:fs"

export const COMPILED_PGLITE = await WebAssembly.compile(
  readFileSync(new URL("pglite.wasm", import.meta.resolve("@electric-sql/pglite"))),
)
