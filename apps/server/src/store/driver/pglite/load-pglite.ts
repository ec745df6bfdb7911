/** Starts the PGlite thread before it is known which database it opens: loading and compiling it takes longer than opening one. */
import { setFlagsFromString } from "node:v8"
import { Worker } from "node:worker_threads"

/**
 * V8 compiles WebAssembly once, quickly, and not a second time for speed: the second compilation costs more at a start, in time and in
 * memory, than the faster code saves (docs/performance.md).
 */
for (const flag of ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"]) setFlagsFromString(flag)

/** A thread that waits for its first message, "open", and until then keeps no process alive. */
export function loadPglite(): Worker {
  const worker = new Worker(new URL("./thread.ts", import.meta.url), { execArgv: [] })
  worker.unref()
  return worker
}
