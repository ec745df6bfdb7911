/** The loop: choose an input, change it, run it; keep what reached new code, tell what broke a promise. */
import { changeBytes, MAX_INPUT_BYTES } from "./change-bytes.ts"
import { changeJson } from "./change-json.ts"
import type { Coverage } from "./coverage.ts"
import { bytesOf, type FuzzTarget, textOf } from "./fuzz-target.ts"
import type { Random } from "./random.ts"
import { sealAgain } from "./seal-again.ts"

export type Find = { readonly input: Uint8Array; readonly problem: string }

export type FuzzRun = {
  readonly target: FuzzTarget
  /** Inputs beside the target's seeds. */
  readonly corpus: readonly Uint8Array[]
  readonly random: Random
  /** Without it nothing is kept on the way: the inputs are changed ones of the corpus alone. */
  readonly coverage?: Coverage
  /** Whether to go on after so many inputs. */
  readonly goesOn: (runs: number) => boolean
  /** Told of each input before it runs. */
  readonly before?: (input: Uint8Array) => void
  /** Told of each input that reached new code. */
  readonly kept?: (input: Uint8Array) => void
  /** Told of each find whose problem was not found before. */
  readonly found: (find: Find) => void
}

/** Of the inputs kept on the way the newest are chosen more often. */
const RECENT = 24
/** Inputs between two looks at what was reached, which cost more than most inputs. A batch with news runs again, one by one. */
const BATCH = 32
/** Problems told of one target: more are of one cause. */
const MAX_FINDS = 20

/** Runs the corpus as it is, then changed inputs. @returns how many ran */
export async function fuzz({
  target,
  corpus,
  random,
  coverage,
  goesOn,
  before,
  kept,
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
      kept?.(input)
    }
  }
  return runs
}

/** What went wrong with an input; undefined when every promise held. */
export async function problemOf({ run }: FuzzTarget, input: Uint8Array): Promise<string | undefined> {
  try {
    await run(input)
    return undefined
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : `threw ${typeof error}`
  }
}

function changedInput(target: FuzzTarget, inputs: readonly Uint8Array[], random: Random): Uint8Array {
  const parent = random.pick(random.once(3) ? inputs.slice(-RECENT) : inputs) ?? new Uint8Array()
  const other = random.pick(inputs) ?? parent
  if (target.json !== true || random.once(4)) return changeBytes(parent, random, other, target.words)
  const text = changeJson(textOf(parent), random, textOf(other))
  if (text === undefined || text.length > MAX_INPUT_BYTES) return changeBytes(parent, random, other, target.words)
  return bytesOf(random.once(2) ? sealAgain(text) : text)
}
