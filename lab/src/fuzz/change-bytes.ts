/** Mutates an input as bytes, as a broken disk or an editor would. */

import type { Seeded } from "../seeded.ts"
import { bytesOf } from "./fuzz-target.ts"

/** Longest mutated input: a longer one reaches no new code in a parser, and slows the loop. */
export const MAX_INPUT_BYTES = 262_144
const MAX_CHANGES = 4
const MAX_REPEATS = 200
const LONGEST_INSERT = 16

/** Texts that have broken parsers of every kind. */
const WORDS: readonly string[] = [
  ...["\n\n", "\r\n", "— ", ..."\n\0\u007f\ufeff\u2028\u0085\ufffd\u{1f600}"],
  ..."\\ud800 \\u0000 __proto__ constructor prototype toString hasOwnProperty".split(" "),
  ..."0 -0 -1 1e400 1E-7 01 0x10 NaN Infinity".split(" "),
  ..."9007199254740991 9007199254740993 18446744073709551616 4294967296 2147483648".split(" "),
  ...`{} [] [ { {"": " \\ , : null true = == + / . % << >>`.split(" "),
]

const cut = (input: Uint8Array, from: number, to: number, between: Uint8Array = new Uint8Array()): Uint8Array =>
  Buffer.concat([input.subarray(0, from), between, input.subarray(to)])

type Change = (input: Uint8Array, random: Seeded, other: Uint8Array, words: readonly string[]) => Uint8Array

const range = (input: Uint8Array, random: Seeded): readonly [number, number] => {
  const from = random.below(input.length + 1)
  return [from, Math.min(input.length, from + 1 + random.below(random.once(4) ? input.length : LONGEST_INSERT))]
}

const CHANGES: readonly Change[] = [
  (input, random) => {
    const at = random.below(input.length)
    return input.length === 0 ? input : Uint8Array.from(input).with(at, (input[at] ?? 0) ^ (1 << random.below(8)))
  },
  (input, random) =>
    input.length === 0 ? input : Uint8Array.from(input).with(random.below(input.length), random.below(256)),
  (input, random) => cut(input, ...range(input, random)),
  (input, random) => input.subarray(0, random.below(input.length)),
  (input, random, _other, words) => {
    const at = random.below(input.length + 1)
    return cut(input, at, at, bytesOf(random.pickIfAny(words) ?? ""))
  },
  (input, random, _other, words) => cut(input, ...range(input, random), bytesOf(random.pickIfAny(words) ?? "")),
  (input, random) => {
    const [from, to] = range(input, random)
    return cut(input, to, to, input.subarray(from, to))
  },
  (input, random) => {
    const [from, to] = range(input, random)
    const repeats = Math.min(1 + random.below(MAX_REPEATS), Math.ceil(MAX_INPUT_BYTES / (to - from + 1)))
    return cut(input, to, to, Buffer.concat(Array.from({ length: repeats }, () => input.subarray(from, to))))
  },
  (input, random) => {
    const [from, to] = range(input, random)
    const at = random.below(input.length + 1)
    return cut(input, at, at, input.subarray(from, to))
  },
  (input, random, other) => cut(input, ...range(input, random), other.subarray(...range(other, random))),
  (input, random, other) =>
    cut(input, random.below(input.length + 1), input.length, other.subarray(random.below(other.length))),
  changeNumber,
]

/** Replaces one of the numbers written in the input. */
function changeNumber(input: Uint8Array, random: Seeded): Uint8Array {
  const numbers = [
    ...Buffer.from(input)
      .toString("latin1")
      .matchAll(/\d{1,20}/g),
  ]
  const found = random.pickIfAny(numbers)
  if (found === undefined) return input
  const value = BigInt(found[0])
  const made = random.pickIfAny([
    value + 1n,
    value - 1n,
    value * 2n,
    -value,
    0n,
    255n,
    256n,
    2n ** 31n,
    2n ** 53n,
    2n ** 64n,
  ])
  return cut(input, found.index, found.index + found[0].length, bytesOf(`${made}`))
}

/** The input with one to four changes. @param other another input, from which pieces are copied */
export function changeBytes(
  input: Uint8Array,
  random: Seeded,
  other: Uint8Array,
  words: readonly string[] = [],
): Uint8Array {
  let changed = input
  const known = [...WORDS, ...words, ...words]
  for (let left = 1 + random.below(MAX_CHANGES); left > 0; left--)
    changed = random.pickIfAny(CHANGES)?.(changed, random, other, known) ?? changed
  return changed.subarray(0, MAX_INPUT_BYTES)
}
