/** The loop: choose an input, mutate it, run it; add it to the inputs if it reached new code, report it if it broke a promise. */

import { isJsonValue, isSha256Hex, type JsonObject, type JsonValue } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { DERIVED_NAMES } from "@runseal/core/artifacts/derived-sections"
import type { Manifest } from "@runseal/core/artifacts/manifest"
import { preAnchorSections } from "@runseal/core/formulas/leaves"
import { bundleHash, executionManifest } from "@runseal/core/formulas/manifest-sections"
import { manifestHash, sealHash, type Unsealed } from "@runseal/core/formulas/seal"
import { readForms } from "@runseal/core/verify/bundle-forms"
import { isObject, member } from "@runseal/core/vocabulary/json-members"
import { BUNDLE_KIND, BUNDLE_VIEW_KIND } from "@runseal/core/vocabulary/versions"
import type { Seeded } from "../seeded.ts"
import { changeBytes, MAX_INPUT_BYTES } from "./change-bytes.ts"
import type { Coverage } from "./coverage.ts"
import { bytesOf, type FuzzTarget, textOf } from "./fuzz-target.ts"

export type Find = { readonly input: Uint8Array; readonly problem: string }

export type FuzzRun = {
  readonly target: FuzzTarget
  /** Inputs in addition to the target's seeds. */
  readonly corpus: readonly Uint8Array[]
  readonly random: Seeded
  /** Without it no input is added: only seeds and corpus are mutated. */
  readonly coverage?: Coverage
  /** Whether to continue after so many inputs. */
  readonly goesOn: (runs: number) => boolean
  /** Called with each input before it runs. */
  readonly before?: (input: Uint8Array) => void
  /** Called with each input that reached new code. */
  readonly added?: (input: Uint8Array) => void
  /** Called with each find whose problem was not found before. */
  readonly found: (find: Find) => void
}

/** So many of the newest inputs are chosen more often. */
const RECENT = 24
/** Inputs between two reads of the coverage, which cost more than most inputs. A batch that reached new code runs again, one by one. */
const BATCH = 32
/** Most problems reported of one target: more usually have one cause. */
const MAX_FINDS = 20

/** Runs the corpus unchanged, then mutated inputs. @returns the number of runs */
export async function fuzz({
  target,
  corpus,
  random,
  coverage,
  goesOn,
  before,
  added,
  found,
}: FuzzRun): Promise<number> {
  const inputs = [...target.seeds(), ...corpus]
  const problems = new Set<string>()
  let runs = 0
  const run = async (input: Uint8Array): Promise<void> => {
    runs++
    before?.(input)
    const problem = await problemOf(target, input)
    if (problem === undefined || problems.has(problem)) return
    problems.add(problem)
    found({ input, problem })
  }
  for (const input of inputs) await run(input)
  coverage?.note()
  while (goesOn(runs) && problems.size < MAX_FINDS) {
    const batch = Array.from({ length: BATCH }, () => changedInput(target, inputs, random))
    for (const input of batch) await run(input)
    if (coverage === undefined || !coverage.isNew()) continue
    for (const input of batch) {
      await run(input)
      if (!coverage.note()) continue
      inputs.push(input)
      added?.(input)
    }
  }
  return runs
}

/** The promise that an input broke; undefined when every one held. */
export async function problemOf({ run }: FuzzTarget, input: Uint8Array): Promise<string | undefined> {
  try {
    await run(input)
    return undefined
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : `threw ${typeof error}`
  }
}

function changedInput(target: FuzzTarget, inputs: readonly Uint8Array[], random: Seeded): Uint8Array {
  const parent = random.pickIfAny(random.once(3) ? inputs.slice(-RECENT) : inputs) ?? new Uint8Array()
  const other = random.pickIfAny(inputs) ?? parent
  if (target.json !== true || random.once(4)) return changeBytes(parent, random, other, target.words)
  const text = changeJson(textOf(parent), random, textOf(other))
  if (text === undefined || text.length > MAX_INPUT_BYTES) return changeBytes(parent, random, other, target.words)
  return bytesOf(random.once(2) ? sealAgain(text) : text)
}

// Mutates a JSON input as a tree, as a forger who knows the format would.

/** Replaces the part at a place; undefined removes it. */
type Replace = (part: JsonValue | undefined) => void
type Place = { readonly key: string; readonly part: JsonValue; readonly replace: Replace }
type Members = { [key: string]: JsonValue }

const MAX_CHANGES = 3
const STRANGERS: readonly string[] = ["", ..."__proto__ constructor prototype toString 0 10 hash kind".split(" ")]

/** The text with one to three changes of its tree; undefined when it is no JSON. */
function changeJson(text: string, random: Seeded, other: string): string | undefined {
  const tree = readTree(text)
  if (tree === undefined) return undefined
  const taken = placesOf(readTree(other) ?? null)
  const root: Members = { root: tree }
  for (let left = 1 + random.below(MAX_CHANGES); left > 0; left--) {
    const place = random.pickIfAny(placesOf(root).slice(1))
    if (place !== undefined) place.replace(structuredClone(changed(place, random, taken)))
  }
  return root.root === undefined ? undefined : JSON.stringify(root.root)
}

function readTree(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Every member and list item of a tree; the first place is the whole tree. */
function placesOf(tree: JsonValue): readonly Place[] {
  const places: Place[] = [{ key: "", part: tree, replace: () => undefined }]
  for (const place of places) {
    const { part } = place
    if (isList(part)) for (const [at, item] of part.entries()) places.push(itemPlace(part, at, item))
    else if (isMembers(part))
      for (const [key, member] of Object.entries(part)) places.push(memberPlace(part, key, member))
  }
  return places
}

const itemPlace = (items: JsonValue[], at: number, part: JsonValue): Place => ({
  key: `${at}`,
  part,
  replace: made => (made === undefined ? items.splice(at, 1) : items.splice(at, 1, made)),
})
const memberPlace = (members: Members, key: string, part: JsonValue): Place => ({
  key,
  part,
  replace: made => {
    Reflect.deleteProperty(members, key)
    if (made !== undefined) setMember(members, key, made)
  },
})

/** Sets a member under any key, also `__proto__`, as an own property. */
function setMember(members: Members, key: string, value: JsonValue): void {
  Object.defineProperty(members, key, { value, enumerable: true, configurable: true, writable: true })
}

function changed({ key, part }: Place, random: Seeded, taken: readonly Place[]): JsonValue | undefined {
  const same = taken.filter(place => place.key === key)
  switch (random.below(7)) {
    case 0:
      return undefined
    case 1:
      return random.pickIfAny(same)?.part ?? null
    case 2:
      return random.pickIfAny(taken)?.part ?? null
    case 3:
      return random.pickIfAny<JsonValue>([null, true, 0, 1.5, "", [], {}, [part], { [key]: part }])
    default:
      return changedHere(structuredClone(part), random)
  }
}

function changedHere(part: JsonValue, random: Seeded): JsonValue {
  if (typeof part === "number") return random.pickIfAny([part + 1, part - 1, -part, part * 2, 0]) ?? 0
  if (typeof part === "string") return changedText(part, random)
  if (typeof part === "boolean" || part === null) return !part
  if (isList(part)) {
    const at = random.below(part.length)
    const item = part[at]
    if (item === undefined) return [null]
    if (random.once(2)) part.splice(random.below(part.length + 1), 0, structuredClone(item))
    else part.push(...part.splice(at, 1))
    return part
  }
  if (!isMembers(part)) return part
  const key = random.pickIfAny(Object.keys(part))
  const stranger = random.pickIfAny(STRANGERS) ?? ""
  if (key === undefined || random.once(2))
    setMember(part, stranger, random.pickIfAny<JsonValue>(["x", 1, {}, []]) ?? "x")
  else {
    setMember(part, random.once(2) ? stranger : `${key}_`, part[key] ?? null)
    Reflect.deleteProperty(part, key)
  }
  return part
}

/** Digits stay digits and letters letters, so that hashes, times and base64 stay well-formed. */
function changedText(text: string, random: Seeded): string {
  const at = random.below(text.length)
  if (text === "" || random.once(4))
    return random.pickIfAny([`${text} `, "", text.slice(1), text.toUpperCase(), `${text}\0`]) ?? ""
  const unit = text.charAt(at)
  const next = /[0-8a-eg-yA-Y]/.test(unit) ? String.fromCharCode(unit.charCodeAt(0) + 1) : "0"
  return text.slice(0, at) + next + text.slice(at + 1)
}

const isList = (part: JsonValue): part is JsonValue[] => Array.isArray(part)
const isMembers = (part: JsonValue): part is Members =>
  typeof part === "object" && part !== null && !Array.isArray(part)

// What a forger without keys can do after a change: recompute every hash and replace the old one everywhere, also in
// leaves. Without keys there are no signatures.

/** A new hash changes the hashes over it; a record's longest chain of hashes is shorter than this. */
const MAX_ROUNDS = 40

/** The text with every hash recomputed until none changes; unchanged when it is no JSON. */
export function sealAgain(text: string): string {
  let sealed = text
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const stale = staleHashes(sealed)
    if (stale.size === 0) return sealed
    sealed = sealed.replace(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g, hash => stale.get(hash) ?? hash)
  }
  return sealed
}

/** Wrong hashes of the parts that contain them, each with the right one. */
function staleHashes(text: string): ReadonlyMap<string, string> {
  const stale = new Map<string, string>()
  const note: Note = (written, right) => {
    if (isSha256Hex(written) && right !== undefined && written !== right) stale.set(written, right)
  }
  const visit = (value: JsonValue): void => {
    if (Array.isArray(value)) value.forEach(visit)
    if (!isObject(value)) return
    Object.values(value).forEach(visit)
    const sealed = value.withheld !== true && ("kind" in value || "version" in value)
    if (sealed) note(value.hash, sealHash(value))
    note(value.ManifestHash, manifestHash(value))
    if (value.kind === BUNDLE_KIND || value.kind === BUNDLE_VIEW_KIND) noteBundle(value, note)
  }
  try {
    const tree: unknown = JSON.parse(text)
    if (isJsonValue(tree)) visit(tree)
  } catch {
    return stale
  }
  return stale
}

type Note = (written: JsonValue | undefined, right: string | undefined) => void

/** Notes the seal of a bundle, and the hashes by which it names what is derived from its sections. Of any other value nothing is right. */
function noteBundle(value: JsonObject, note: Note): void {
  const forms = readForms(value)
  if ("unreadable" in forms) {
    note(value.bundle_hash, "0".repeat(64))
    return
  }
  const { sealed, bundle } = forms
  note(sealed.bundle_hash, bundleHash(sealed))
  for (const name of DERIVED_NAMES) note(sealed.derived?.[name], bundle.sections[name]?.hash)
  const { manifest } = sealed
  const rebuilt = rebuiltManifest(bundle)
  if (manifest === undefined || rebuilt === undefined) return
  const { ExecutionIDs, ...rest } = rebuilt
  for (const [i, id] of ExecutionIDs.entries()) note(manifest.ExecutionIDs[i], id)
  for (const [field, right] of Object.entries(rest)) note(member(manifest, field), `${right}`)
}

/** The manifest that the sections of a completed run give; undefined when one is missing. */
function rebuiltManifest({ sections, allow_token: token }: Bundle): Unsealed<Manifest, "ManifestHash"> | undefined {
  const { pote_proof, registry, final_vfa } = sections
  const before = preAnchorSections(sections)
  if (!(before && pote_proof && registry && final_vfa && token)) return undefined
  return executionManifest({ ...before, pote_proof, registry, final_vfa }, token, true)
}
