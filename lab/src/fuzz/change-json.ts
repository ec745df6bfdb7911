/** Mutates a JSON input as a tree, as a forger who knows the format would. */
import type { JsonValue } from "@runseal/canonical"
import type { Seeded } from "../seeded.ts"

/** Replaces the part at a place; undefined removes it. */
type Replace = (part: JsonValue | undefined) => void
type Place = { readonly key: string; readonly part: JsonValue; readonly replace: Replace }
type Members = { [key: string]: JsonValue }

const MAX_CHANGES = 3
const STRANGERS: readonly string[] = ["", ..."__proto__ constructor prototype toString 0 10 hash kind".split(" ")]

/** The text with one to three changes of its tree; undefined when it is no JSON. */
export function changeJson(text: string, random: Seeded, other: string): string | undefined {
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
