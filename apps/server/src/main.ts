/**
 * The server process: its options, then a command or the service. What is loaded before the options are read is little, so that
 * the embedded database loads and compiles beside the modules of the service.
 */
import { readConfig } from "./options/config.ts"
import { readSecretFiles, removeSecrets, SECRET_VARIABLES } from "./options/secrets.ts"
import { StartupError } from "./options/startup-error.ts"
import { readTracesSettings } from "./options/traces-settings.ts"
import { loadPglite } from "./store/driver/pglite/load-pglite.ts"

/** The process that started this one, read before it can end. */
const PARENT = process.ppid

const printToOperator = (sentence: string): void => void process.stderr.write(`runseal: ${sentence}\n`)

async function main(): Promise<void> {
  readSecretFiles(process.env)
  const config = readConfig(process.argv.slice(2), process.env)
  const tracesSettings = readTracesSettings(process.env)
  // The secrets were read. From here on neither a child process, nor a diagnostic report of Node, nor /proc shows them.
  for (const name of removeSecrets(process.env, SECRET_VARIABLES))
    printToOperator(`${name} stays readable in /proc/${process.pid}/environ; give ${name}_FILE in its place`)
  if ("ended" in config) return
  const loaded = config.database === undefined && config.policyCommand === undefined ? loadPglite() : undefined
  const { serve } = await import("./service-process.ts")
  await serve({ config, traces: tracesSettings, loaded, parent: PARENT, printToOperator })
}

/** A refused start is one sentence. */
const sentenceOf = async (error: unknown): Promise<string> =>
  error instanceof StartupError ? error.message : (await import("./service-process.ts")).sentenceFor(error)

try {
  await main()
} catch (error) {
  printToOperator(await sentenceOf(error))
  process.exitCode = 1
}
