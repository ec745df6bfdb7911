/**
 * A reference witness (C2SP tlog-witness): cosigns a log's checkpoints as long as each extends the one before. It is for trying
 * out and testing, and is no production service: it has no TLS, no rate limit and no rotation of its key, and
 * answers every client that reaches its address. Run it on a machine that the log's operator does not control, or it proves nothing.
 */
import { createPublicKey } from "node:crypto"
import { formatVkey, noteKey } from "@runseal/log/notes/signed-note"
import { serve } from "./serve.ts"
import { openFiles } from "./state.ts"
import { readOptions, WitnessError } from "./witness-options.ts"

/** An Ed25519 SPKI is 12 bytes and the raw public key. */
const SPKI_PREFIX_BYTES = 12

async function main(): Promise<void> {
  const { name, host, port, keyFile, stateFile, logs } = readOptions(process.argv.slice(2))
  const { key: secret, state } = openFiles(keyFile, stateFile)
  const spki = createPublicKey(secret).export({ type: "spki", format: "der" })
  const key = noteKey(name, "cosignature/v1", new Uint8Array(spki.subarray(SPKI_PREFIX_BYTES)))
  const now = (): number => Math.floor(Date.now() / 1000)
  const { url, stop } = await serve({ key, secret, logs, state, now }, host, port)
  process.stdout.write(`key ${formatVkey(key)}\nlistening ${url}\n`)
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      stop().then(state.close, (error: unknown) => {
        process.stderr.write(`witness: ${String(error)}\n`)
        process.exitCode = 1
      })
    })
}

try {
  await main()
} catch (error) {
  process.stderr.write(`witness: ${error instanceof WitnessError ? error.message : String(error)}\n`)
  process.exitCode = 1
}
