/**
 * What must hold after every fault, checked over HTTP: the log only grew, every record is complete and in
 * its place, and every acknowledged record exists as it was answered.
 */

import { decodeBase64 } from "@runseal/canonical"
import { listedAttestationSchema } from "@runseal/core/artifacts/attestation-answer"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { recordFindings } from "@runseal/core/artifacts/record-findings"
import { recordInChain } from "@runseal/core/verify/bundle"
import { readBundle } from "@runseal/core/verify/bundle-forms"
import { chainProblems } from "@runseal/core/verify/chain"
import { isUnreadable, verifyJson, verifyText } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { verifyConsistency } from "@runseal/log/merkle/rfc6962"
import { parseCheckpoint, publicOrigin } from "@runseal/log/notes/checkpoint"
import { verifyNote } from "@runseal/log/notes/verified-note"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { expect } from "vitest"
import { anchorsOf } from "../../../apps/server/spec/harness/check-records.ts"
import type { Holder } from "../../../apps/server/spec/harness/key-holders.ts"
import { type Answer, at, listAt, numberAt, textAt } from "../../../apps/server/spec/harness/read-answer.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import type { Memory, Sent } from "./acknowledged-runs.ts"

const PAGE = 500
/** Concurrent reads. */
const READERS = 16

/** Throws when something does not hold. Gives the number of records that exist without having been acknowledged. */
export async function checkAfterFault(holders: readonly Holder[], memory: Memory): Promise<number> {
  expect(memory.unexpected, "every answer was a record, or a refusal that allows a retry").toEqual([])
  const trust = await checkTrust(holders[0]!, memory)
  await readNewEvents(holders[0]!, memory, trust)
  const size = await checkGrowth(holders[0]!, memory, trust)
  for (const [at, holder] of holders.entries()) {
    await readNewRuns(at, holder, memory, trust)
    await readNewAttestations(at, holder, memory, trust)
  }
  const numbers = [...memory.runs.keys()].sort((a, b) => a - b)
  expect(numbers, "run numbers are 1, 2, 3 …").toEqual(numbers.map((_, i) => i + 1))
  checkNothingUnexplained(memory, size)
  return checkAnswers(memory)
}

async function get(holder: Holder, path: string): Promise<Answer> {
  const answer = await holder.get(path)
  expect({ path, status: answer.status }, answer.text.slice(0, 300)).toEqual({ path, status: 200 })
  return answer
}

async function checkTrust(holder: Holder, memory: Memory): Promise<TrustedKeys> {
  const { text, body } = await get(holder, "/.well-known/runseal-trust.json")
  memory.trust ??= text
  expect(text, "the keys and the log are those of the first start").toBe(memory.trust)
  const trust = parseTrust(body)
  if ("problem" in trust) throw new Error(trust.problem)
  return trust
}

/** Every checkpoint that was ever received is a prefix of the newest. Gives the newest size. */
async function checkGrowth(holder: Holder, memory: Memory, trust: TrustedKeys): Promise<number> {
  memory.checkpoints.push((await get(holder, "/log/checkpoint")).text)
  const heads = memory.checkpoints.map(note => signedHead(note, trust))
  const newest = heads.at(-1)!
  for (const head of heads) {
    const path = `/log/consistency?first=${head.size}&second=${newest.size}`
    const hashes = listAt((await get(holder, path)).body, "hashes")
    const proof = hashes.map(hash => decodeBase64(String(hash)) ?? Uint8Array.of())
    const claim = { size1: head.size, size2: newest.size, root1: head.root, root2: newest.root, proof }
    expect(verifyConsistency(claim), `the log of ${head.size} entries is a beginning of that of ${newest.size}`).toBe(
      true,
    )
  }
  // A proved prefix of the newest stays one as long as the newest itself is checked.
  memory.checkpoints.splice(0, memory.checkpoints.length - 1)
  return newest.size
}

function signedHead(note: string, trust: TrustedKeys) {
  const verified = verifyNote(note, trust.checkpointKeys)
  const head = parseCheckpoint(verified?.text ?? "")
  if (verified === undefined || verified.signers.length === 0 || head?.origin !== publicOrigin(trust.origin))
    throw new Error(`no checkpoint of this log: ${note}`)
  return head
}

/** Reads a caller's new runs: each passes the public verifier, and follows the one before in the chain. */
async function readNewRuns(at: number, holder: Holder, memory: Memory, trust: TrustedKeys): Promise<void> {
  const known = memory.chains.get(at)
  const count = known?.count ?? 0
  const { total, items } = await listNew(holder, "/runs", "runs", count)
  const bundles: Bundle[] = []
  const texts = await mapBounded(items, async item => {
    const run_id = numberAt(item, "id")
    const { text } = await get(holder, `/runs/${run_id}/artifacts`)
    return { run_id, name: textAt(item, "route_id"), text }
  })
  for (const { run_id, name, text } of texts) {
    const bundle = judged(text, trust, `run ${run_id}`)
    bundles.push(bundle)
    expect(memory.runs.has(run_id), `run ${run_id} belongs to one caller`).toBe(false)
    memory.runs.set(run_id, { run_id, name, bundle, text })
  }
  expect(chainProblems((known === undefined ? bundles : [known.last, ...bundles]).map(recordInChain))).toEqual([])
  const ordinals = bundles.map(bundle => bundle.anchors.complete_record?.leaf.tenant_ordinal)
  expect(ordinals, `ordinals of caller ${at}`).toEqual(ordinals.map((_, i) => count + 1 + i))
  const last = bundles.at(-1)
  if (last !== undefined) memory.chains.set(at, { last, count: total })
}

function judged(text: string, trust: TrustedKeys, name: string): Bundle {
  const report = verifyText(text, [trust])
  expect(isUnreadable(report) ? report : report.verdict, name).toBe(VERDICTS.complete)
  const bundle = readBundle(JSON.parse(text))
  if ("unreadable" in bundle) throw new Error(bundle.unreadable)
  return bundle
}

async function readNewAttestations(at: number, holder: Holder, memory: Memory, trust: TrustedKeys): Promise<void> {
  const { total, items } = await listNew(holder, "/attestations", "attestations", memory.attested.get(at) ?? 0)
  for (const item of items) {
    const report = verifyJson(item, [trust])
    expect(isUnreadable(report) ? report : report.verdict).toBe(VERDICTS.attestation)
    const parsed = parseExact(listedAttestationSchema, item)
    if (!parsed.ok) throw new Error(parsed.problem)
    const name = parsed.value.subject_ref ?? ""
    expect(memory.attestations.has(name), `${name} was attested once`).toBe(false)
    memory.attestations.set(name, Number(parsed.value.log_entry_id))
  }
  memory.attested.set(at, total)
}

/** Reads the events of administrators once all of them are sealed; each passes the public verifier. */
async function readNewEvents(admin: Holder, { events }: Memory, trust: TrustedKeys): Promise<void> {
  const listed = await until("every admin event is sealed", async () => {
    const { body } = await get(admin, `/admin/audit?limit=${PAGE}`)
    const all = listAt(body, "events")
    return all.every(event => at(event, "sealed") !== undefined) ? all : undefined
  })
  for (const event of listed) {
    const ordinal = numberAt(event, "ordinal")
    if (events.has(ordinal)) continue
    const report = verifyText((await get(admin, `/admin/audit/${ordinal}`)).text, [trust])
    expect(isUnreadable(report) ? report : report.verdict, `event ${ordinal}`).toBe(VERDICTS.admin_event)
    events.set(ordinal, numberAt(event, "sealed", "log_index"))
  }
  expect([...events.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: listed.length }, (_, i) => i + 1))
}

/** The items of a list, newest first, beyond the oldest `count`; given oldest first. */
async function listNew(holder: Holder, path: string, member: string, count: number) {
  const total = numberAt((await get(holder, `${path}?limit=1`)).body, "total")
  expect(total, `${path} never shrinks`).toBeGreaterThanOrEqual(count)
  const items = []
  for (let offset = 0; offset < total - count; offset += PAGE) {
    const limit = Math.min(PAGE, total - count - offset)
    items.push(...listAt((await get(holder, `${path}?limit=${limit}&offset=${offset}`)).body, member))
  }
  expect(items, "while nobody writes, pages fit together").toHaveLength(total - count)
  return { total, items: items.reverse() }
}

/** Maps items with bounded concurrency; gives the results in the order of the items. */
async function mapBounded<Item, Made>(
  items: readonly Item[],
  work: (item: Item) => Promise<Made>,
): Promise<readonly Made[]> {
  const made: Made[] = []
  for (let at = 0; at < items.length; at += READERS)
    made.push(...(await Promise.all(items.slice(at, at + READERS).map(work))))
  return made
}

/** Entry 0 is the log's genesis; every other entry belongs to one document that a caller can read. */
function checkNothingUnexplained({ runs, attestations, exports, events }: Memory, size: number): void {
  const ofRuns = [...runs.values()].flatMap(({ bundle }) =>
    anchorsOf(bundle).map(({ entry }) => Number(entry.logIndex)),
  )
  const shown = [...ofRuns, ...attestations.values(), ...exports.keys(), ...events.values()].sort((a, b) => a - b)
  expect(shown, "every entry of the log belongs to a record").toEqual(Array.from({ length: size - 1 }, (_, i) => i + 1))
}

/** Gives how many records exist of requests that were not acknowledged. */
function checkAnswers(memory: Memory): number {
  const byName = new Map([...memory.runs.values()].map(run => [run.name, run]))
  expect(byName.size, "no request made two runs").toBe(memory.runs.size)
  let found = 0
  // Records that were read back once are compared with the database at the end.
  for (const sent of memory.sent.filter(({ readBack }) => readBack === undefined)) {
    const exists = sent.path === "/attest" ? memory.attestations.has(sent.name) : byName.has(sent.name)
    if (sent.acknowledged === undefined) found += exists ? 1 : 0
    else if (sent.path === "/attest") expectAttested(sent, sent.acknowledged, memory)
    else expectStored(sent, sent.acknowledged, byName.get(sent.name)?.bundle)
    if (sent.acknowledged !== undefined) sent.readBack = true
  }
  return found
}

function expectAttested({ name }: Sent, { body }: Answer, { attestations }: Memory): void {
  expect({ name, at: attestations.get(name) }).toEqual({ name, at: Number(body.log_entry_id) })
}

/** The run exists, and every document of its answer is in the record. */
function expectStored({ name }: Sent, { body }: Answer, bundle: Bundle | undefined): void {
  const { run_id, findings, ...answered } = body
  const {
    ok: _ok,
    duration_ms: _duration,
    error: _error,
    error_stage: _stage,
    explanation: _why,
    ...documents
  } = answered
  if (bundle === undefined || bundle.run.run_id !== run_id)
    throw new Error(`${name} was acknowledged as run ${run_id} and is not there`)
  expect(bundle, name).toMatchObject(documents)
  expect(recordFindings(bundle.sections), name).toEqual(findings ?? [])
}
