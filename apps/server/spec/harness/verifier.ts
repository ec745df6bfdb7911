/** The real command-line verifier as a process of its own, with no pinned keys but those it is given. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const VERIFIER = fileURLToPath(new URL("../../../verifier-cli/bin/verifier.cjs", import.meta.url))
/** A cold start compiles the sources; on a busy machine that takes its time. */
const DEADLINE_MS = 60_000

export type Verification = {
  readonly exit: number | null
  /** The last line of standard output. */
  readonly verdict: string
  readonly stdout: string
  readonly stderr: string
}

/**
 * Verifies a document that was saved to a file, or one at an http address, against a trust document.
 * @param document text or bytes of the document, or its address
 */
export async function verifyWithCli(document: string | Uint8Array, trust: string): Promise<Verification> {
  const folder = mkdtempSync(join(tmpdir(), "runseal-cli-"))
  try {
    writeFileSync(join(folder, "trust.json"), trust)
    const address = typeof document === "string" && /^https?:/.test(document)
    if (!address) writeFileSync(join(folder, "document.json"), document)
    return await runVerifier(folder, [address ? document : "document.json", "--trust", "trust.json"])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Verifies a file of that name against a trust document, with more options. */
export async function runVerifierOn(
  name: string,
  text: string,
  trust: string,
  options: readonly string[],
): Promise<Verification> {
  const folder = mkdtempSync(join(tmpdir(), "runseal-cli-"))
  try {
    writeFileSync(join(folder, "trust.json"), trust)
    writeFileSync(join(folder, name), text)
    return await runVerifier(folder, [name, "--trust", "trust.json", ...options])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Runs the verifier in a folder, which is its home and holds its trust store. */
export function runVerifier(folder: string, args: readonly string[]): Promise<Verification> {
  const env = { PATH: process.env.PATH, HOME: folder, RUNSEAL_TRUST_DIR: join(folder, "trust"), NO_COLOR: "1" }
  return new Promise(resolve => {
    const options = { cwd: folder, env, timeout: DEADLINE_MS }
    const child = execFile(process.execPath, [VERIFIER, ...args], options, (_error, stdout, stderr) =>
      resolve({ exit: child.exitCode, verdict: stdout.trimEnd().split("\n").at(-1) ?? "", stdout, stderr }),
    )
  })
}
