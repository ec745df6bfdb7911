/** Checks a PDF's objects against an allow-list. Anything else is refused: a viewer may act on any key it knows. */
import type { PdfFile, PdfObject } from "./pdf-file.ts"
import { latin1, PdfError, type PdfValue } from "./pdf-value.ts"

/** The objects of each kind that were met, and the texts in them. */
export type Met = {
  readonly objects: ReadonlyMap<string, readonly number[]>
  /** Texts that a viewer may show beside the pages. */
  readonly texts: readonly string[]
}

/** Where the walk goes on, and what it found. */
type Walk = {
  readonly meet: (object: number, kind: string) => void
  /** Notes an object that something else must lead to, as one of these kinds. */
  readonly back: (object: number, kinds: readonly string[]) => void
  readonly text: (text: string) => void
}

/** Accepts a value, or throws PdfError. */
export type Shape = (value: PdfValue, walk: Walk) => void

/** A kind of object: its value, and whether it is a stream. */
export type Kind = { readonly shape: Shape; readonly stream: boolean }

/** Characters of all texts beside the pages: titles, alternatives, names. */
const MAX_TEXT_LENGTH = 4_000_000
/** Bytes a UTF-16 text begins with. ISO 32000-1 §7.9.2.2. */
const BYTE_ORDER_MARK = [0xfe, 0xff]
const [FIRST_PRINTED, LAST_PRINTED] = [0x20, 0x7e]
/** Between two of these is the language of a text, which is not shown. */
const LANGUAGE_ESCAPE = "\u001b"

const foreign = (): PdfError => new PdfError("it holds what our reports do not")

/** A value of one of these kinds, whatever it says. */
export const ofKind =
  (...kinds: readonly PdfValue["kind"][]): Shape =>
  ({ kind }) => {
    if (!kinds.includes(kind)) throw foreign()
  }

export const integer: Shape = value => {
  if (value.kind !== "number" || !Number.isSafeInteger(value.value)) throw foreign()
}

/** One of these names. */
export const name =
  (...names: readonly string[]): Shape =>
  value => {
    if (value.kind !== "name" || !names.includes(value.name)) throw foreign()
  }

/** Exactly this number. */
export const number =
  (wanted: number): Shape =>
  value => {
    if (value.kind !== "number" || value.value !== wanted) throw foreign()
  }

export const isTrue: Shape = value => {
  if (value.kind !== "boolean" || !value.value) throw foreign()
}

/** A text that a viewer may show. */
export const text: Shape = (value, walk) => {
  if (value.kind !== "string") throw foreign()
  walk.text(textOf(value.bytes))
}

/** Exactly these characters. */
export const literal =
  (wanted: string): Shape =>
  value => {
    if (value.kind !== "string" || latin1(value.bytes) !== wanted) throw foreign()
  }

/** A list of this. */
export const list =
  (shape: Shape): Shape =>
  (value, walk) => {
    if (value.kind !== "array") throw foreign()
    for (const item of value.items) shape(item, walk)
  }

/** A list of exactly these. */
export const tuple =
  (...shapes: readonly Shape[]): Shape =>
  (value, walk) => {
    if (value.kind !== "array" || value.items.length !== shapes.length) throw foreign()
    for (const [at, item] of value.items.entries()) shapes[at]?.(item, walk)
  }

/** A list in which these alternate. */
export const pairs =
  (first: Shape, second: Shape): Shape =>
  (value, walk) => {
    if (value.kind !== "array" || value.items.length % 2 !== 0) throw foreign()
    for (const [at, item] of value.items.entries()) (at % 2 === 0 ? first : second)(item, walk)
  }

/** An object of this kind, by reference. */
export const to =
  (kind: string): Shape =>
  (value, walk) => {
    if (value.kind !== "reference") throw foreign()
    walk.meet(value.object, kind)
  }

/** An object that something else leads to, as one of these kinds, by reference. */
export const backTo =
  (...kinds: readonly string[]): Shape =>
  (value, walk) => {
    if (value.kind !== "reference") throw foreign()
    walk.back(value.object, kinds)
  }

/** One of two shapes, chosen by a test of the value. */
export const either =
  (test: (value: PdfValue) => boolean, yes: Shape, no: Shape): Shape =>
  (value, walk) =>
    (test(value) ? yes : no)(value, walk)

type Members = Readonly<Record<string, Shape>>

/** A dictionary with all of `members`, any of `optional`, and no other key. */
export const dictionary =
  (members: Members, optional: Members = {}): Shape =>
  (value, walk) => {
    if (value.kind !== "dictionary") throw foreign()
    for (const key of Object.keys(members)) if (!value.entries.has(key)) throw foreign()
    for (const [key, item] of value.entries) {
      const shape = Object.hasOwn(members, key)
        ? members[key]
        : Object.hasOwn(optional, key)
          ? optional[key]
          : undefined
      if (shape === undefined) throw new PdfError("a dictionary has a key that our reports do not use")
      shape(item, walk)
    }
  }

/** A dictionary whose keys match the pattern, each with this. */
export const named =
  (pattern: RegExp, shape: Shape): Shape =>
  (value, walk) => {
    if (value.kind !== "dictionary") throw foreign()
    for (const [key, item] of value.entries) {
      if (!pattern.test(key)) throw foreign()
      shape(item, walk)
    }
  }

/**
 * Walks from the trailer over every object. Each is met as one kind only, and none is left over: what nothing refers to would be signed
 * and shown to nobody.
 * @throws PdfError
 */
export function walkObjects(file: PdfFile, trailer: Shape, kinds: Readonly<Record<string, Kind>>): Met {
  const kindOf = new Map<number, string>()
  const objects = new Map<string, number[]>()
  const left: (readonly [PdfObject, Kind])[] = []
  const texts: string[] = []
  let length = 0
  const meet = (object: number, kind: string): void => {
    const known = kindOf.get(object)
    if (known === kind) return
    const [found, wanted] = [file.objects.get(object), kinds[kind]]
    if (known !== undefined || found === undefined || wanted === undefined)
      throw new PdfError("an object is where one of another kind has to be")
    kindOf.set(object, kind)
    const others = objects.get(kind)
    if (others === undefined) objects.set(kind, [object])
    else others.push(object)
    left.push([found, wanted])
  }
  const note = (found: string): void => {
    length += found.length
    if (length > MAX_TEXT_LENGTH) throw new PdfError("its texts are too long")
    texts.push(found)
  }
  const parents: (readonly [object: number, kinds: readonly string[]])[] = []
  const walk: Walk = { meet, back: (object, kindNames) => void parents.push([object, kindNames]), text: note }
  trailer(file.trailer, walk)
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [{ value, stream }, kind] = next
    if ((stream !== undefined) !== kind.stream) throw foreign()
    kind.shape(value, walk)
  }
  for (const [object, wanted] of parents) if (!wanted.includes(kindOf.get(object) ?? "")) throw foreign()
  if (kindOf.size !== file.objects.size) throw new PdfError("it holds an object that nothing refers to")
  return { objects, texts }
}

/** UTF-16 behind its mark, or ASCII: another program reads it as no other text. ISO 32000-1 §7.9.2.2. */
function textOf(bytes: Uint8Array): string {
  if (!BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte)) {
    if (bytes.some(byte => byte < FIRST_PRINTED || byte > LAST_PRINTED)) throw foreign()
    return latin1(bytes)
  }
  if (bytes.length % 2 !== 0) throw foreign()
  let found = ""
  for (let at = 2; at + 1 < bytes.length; at += 2)
    found += String.fromCharCode(((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0))
  if (found.includes(LANGUAGE_ESCAPE)) throw foreign()
  return found
}
