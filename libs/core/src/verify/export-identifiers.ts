/** Identifiers that no two runs of a chain share, remembered compactly. */
import { sequenceId } from "../formulas/moment.ts"
import type { ChainDocument } from "./chain-document.ts"

/**
 * Records whose identifiers are remembered; later records are compared with these only. One takes at most 96 bytes: three
 * identifiers, each in a slot of 12 bytes of a table that is more than three eighths full.
 */
export const REMEMBERED_RECORDS_MAX = 8_388_608

/**
 * What is wrong with the identifiers of the next record: ends of sentences.
 * @param place of the record in the piece, from 1; 0 for an opening from before it
 * @param nameOf a record by its place
 */
type IdentifierCheck = (document: ChainDocument, place: number, nameOf: (place: number) => string) => readonly string[]

export function createIdentifierCheck(limit: number = REMEMBERED_RECORDS_MAX): IdentifierCheck {
  const tables = { "envelope id": firstPlaces(), nonce: firstPlaces(), "sequence id": firstPlaces() }
  return ({ decided }, place, nameOf) => {
    const envelope = decided?.sections.envelope
    if (envelope === undefined) return []
    const repeated = (what: keyof typeof tables, value: string): readonly string[] => {
      const digits = value.slice(value.indexOf("-") + 1)
      const first = tables[what].find(digits, place <= limit ? place : undefined)
      return first === undefined ? [] : [`has the ${what} ${value} of ${nameOf(first)}`]
    }
    return [
      ...repeated("envelope id", envelope.envelope_id),
      ...repeated("nonce", envelope.run_nonce),
      ...repeated("sequence id", sequenceId(envelope.hash)),
    ]
  }
}

export type FirstPlaces = {
  /** The place of the first that had these digits; undefined when none had, and it is remembered at `place` if that is given. */
  readonly find: (hexDigits: string, place: number | undefined) => number | undefined
}

/** 32-bit words of a slot: two of the identifier, and its place plus one; 0 there: nothing. */
const SLOT_WORDS = 3
const FIRST_SLOTS = 1024
const WORD_DIGITS = 8

/**
 * A hash table with linear probing over the first 64 bits of each identifier, since a Map takes five times as much. Two identifiers
 * of eight million records share 64 bits by chance in one of some hundred thousand exports.
 */
export function firstPlaces(): FirstPlaces {
  let slots = new Uint32Array(FIRST_SLOTS * SLOT_WORDS)
  let taken = 0
  const insert = (into: Uint32Array, high: number, low: number, stored: number): number => {
    const count = into.length / SLOT_WORDS
    // Two odd constants mix both words, so that identifiers with equal ends do not crowd.
    const mixed = Math.imul(high, 0x9e3779b1) ^ Math.imul(low, 0x85ebca77)
    for (let slot = ((mixed ^ (mixed >>> 15)) >>> 0) % count; ; slot = (slot + 1) % count) {
      const at = slot * SLOT_WORDS
      const known = into[at + 2] ?? 0
      if (known === 0) {
        if (stored > 0) into.set([high, low, stored], at)
        return 0
      }
      if (into[at] === high && into[at + 1] === low) return known
    }
  }
  const grow = (): void => {
    const larger = new Uint32Array(slots.length * 2)
    for (let at = 0; at < slots.length; at += SLOT_WORDS) {
      const [high = 0, low = 0, stored = 0] = slots.subarray(at, at + SLOT_WORDS)
      if (stored > 0) insert(larger, high, low, stored)
    }
    slots = larger
  }
  return {
    find: (hexDigits, place) => {
      const [high, low] = [wordAt(hexDigits, 0), wordAt(hexDigits, WORD_DIGITS)]
      const known = insert(slots, high, low, place === undefined ? 0 : place + 1)
      if (known > 0) return known - 1
      if (place !== undefined && ++taken * 4 > (slots.length / SLOT_WORDS) * 3) grow()
      return undefined
    },
  }
}

const wordAt = (hexDigits: string, at: number): number => Number.parseInt(hexDigits.slice(at, at + WORD_DIGITS), 16)
