/** What an auditor who has only the exports finds: they are complete, and every acknowledged run is in them. */
import { parseStrictJson } from "@runseal/canonical"
import { exportStatementSchema } from "@runseal/core/artifacts/export-statement"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { expect } from "vitest"
import type { Holder } from "../../../apps/server/spec/harness/key-holders.ts"
import { numberAt } from "../../../apps/server/spec/harness/read-answer.ts"
import { runVerifierOn } from "../../../apps/server/spec/harness/verifier.ts"
import type { Memory } from "../faults/acknowledged-runs.ts"

/**
 * Reads the export of each caller through one server and verifies it with the real command. The statements of the exports are
 * remembered: each is an entry of the log.
 * @param since the exports begin with runs of this time, ISO 8601; absent: they are whole
 */
export async function checkExports(holders: readonly Holder[], memory: Memory, since?: string): Promise<void> {
  for (const [at, holder] of holders.entries()) {
    const { status, text } = await holder.get(since === undefined ? "/runs/export" : `/runs/export?from=${since}`)
    expect(status, text.slice(0, 300)).toBe(200)
    const [statement = "", ...bundles] = text.trimEnd().split("\n")
    const parsed = parseExact(exportStatementSchema, parseStrictJson(statement))
    if (!parsed.ok) throw new Error(parsed.problem)
    memory.exports.set(Number(parsed.value.entry.logIndex), statement)
    const verified = await runVerifierOn("export.ndjson", text, memory.trust ?? "", ["--complete"])
    expect(verified.exit, `${verified.verdict} ${verified.stderr}`).toBe(0)
    const exported = new Set(bundles.map(line => numberAt(parseStrictJson(line), "run", "run_id")))
    const missing = acknowledgedRuns(memory, at, since).filter(id => !exported.has(id))
    expect(missing, "acknowledged and not in the export").toEqual([])
  }
}

const acknowledgedRuns = ({ sent, runs }: Memory, caller: number, since = ""): readonly number[] =>
  sent
    .filter(one => one.caller === caller && one.path === "/execute")
    .flatMap(({ acknowledged }) => (acknowledged === undefined ? [] : [numberAt(acknowledged.body, "run_id")]))
    .filter(id => (runs.get(id)?.bundle.run.created_at ?? since) >= since)
