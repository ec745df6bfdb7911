/** The loop: choose an input, mutate it, run it; add it to the inputs if it reached new code, report it if it broke a promise. */

import type { Seeded } from "../seeded.ts"
import { changeBytes, MAX_INPUT_BYTES } from "./change-bytes.ts"
import { changeJson } from "./change-json.ts"
import type { Coverage } from "./coverage.ts"
import { bytesOf, type FuzzTarget, textOf } from "./fuzz-target.ts"
import { sealAgain } from "./seal-again.ts"

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
