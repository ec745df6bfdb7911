import { readdirSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { seeded } from "../seeded.ts"
import { authenticity, vectors } from "./authentic.ts"
import { CORPUS, corpusInputs } from "./corpus.ts"
import { countCoverage } from "./coverage.ts"
import { type Find, fuzz, problemOf, sealAgain } from "./fuzz-loop.ts"
import { type FuzzTarget, promise, seedsOf, textOf } from "./fuzz-target.ts"
import { TARGETS } from "./targets.ts"
import { watchedFuzz } from "./watched-fuzz.ts"

const SEED = 20_260_401
const TIMEOUT_MS = 600_000
const MAX_CORPUS_BYTES = 1_000_000
/** Mutated inputs per target; a whole document takes a hundred times as long as a scalar. */
const CHANGED: Readonly<Record<string, number>> = {
  document: 400,
  export: 150,
  "log-entry": 400,
  trust: 400,
}
const CHANGED_OTHERWISE = 1000

const targets = TARGETS.map(target => ({ name: target.name, target }))

describe("untrusted input", () => {
  test.each(targets)(
    "to $name, no input of the corpus breaks a promise",
    { timeout: TIMEOUT_MS },
    async ({ name, target }) => {
      for (const { name: why, bytes } of corpusInputs(name))
        expect([why, await problemOf(target, bytes)]).toEqual([why, undefined])
      for (const seed of target.seeds()) expect(await problemOf(target, seed)).toBeUndefined()
    },
  )

  test.each(targets)(
    "to $name, no mutated input breaks a promise",
    { timeout: TIMEOUT_MS },
    async ({ name, target }) => {
      const finds: string[] = []
      const limit = (CHANGED[name] ?? CHANGED_OTHERWISE) + target.seeds().length
      await fuzz({
        target,
        corpus: corpusInputs(name).map(({ bytes }) => bytes),
        random: seeded(SEED),
        goesOn: runs => runs < limit,
        found: ({ problem, input }) => finds.push(`${problem}: ${textOf(input).slice(0, 2000)}`),
      })
      expect(finds).toEqual([])
    },
  )
})

describe("the corpus", () => {
  test("has files of known targets only, and is small", () => {
    const names = readdirSync(CORPUS)
      .filter(name => name !== "README.md")
      .map(name => name.replace(".jsonl", ""))
    expect(TARGETS.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
    const sizes = names.flatMap(name => corpusInputs(name)).map(({ bytes }) => bytes.length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_CORPUS_BYTES)
  })
})

describe("what counts as authentic", () => {
  const isAuthentic = authenticity()
  const published = vectors("bundles/valid").map(bytes => JSON.parse(textOf(bytes)))
  const full = published.find(
    ({ kind, run, sections }) =>
      kind === "vfa.bundle_view.v1" && run.outcome_kind === "ok" && sections.attested_context.declared,
  )
  const old = published.find(({ run, anchors }) => run.leaf_version === "vfa.leaf.v5" && anchors.complete_record)
  const hidden = published.find(record => record.withheld_results)
  const withheld = ({ kind, hash }: { readonly kind: string; readonly hash: string }) => ({
    kind,
    withheld: true,
    hash,
  })
  const withSection = (name: string, section: unknown) => ({ ...full, sections: { ...full.sections, [name]: section } })

  test("is what is published, also with declared sections withheld, and v5 without its last anchor", () => {
    for (const document of published) expect(isAuthentic(document)).toBe(true)
    expect(isAuthentic(withSection("causal_graph", withheld(full.sections.causal_graph)))).toBe(true)
    expect(isAuthentic({ ...old, anchors: { pre_anchor: old.anchors.pre_anchor } })).toBe(true)
  })

  test("is nothing else", () => {
    const { declared: _, ...emptied } = full.sections.causal_graph
    const { withheld_results: results, ...withoutResults } = hidden
    const changed = [
      withoutResults,
      { ...hidden, withheld_results: { ...results, declared_values: {} } },
      { ...full, run: { ...full.run, run_id: full.run.run_id + 1 } },
      { ...full, extra: 1 },
      { ...full, anchors: { pre_anchor: full.anchors.pre_anchor } },
      withSection("causal_graph", emptied),
      withSection("causal_graph", { ...withheld(full.sections.causal_graph), declared: {} }),
      withSection("causal_graph", withheld(full.sections.attested_context)),
      withSection("payload", withheld(full.sections.payload)),
    ]
    for (const document of changed) expect(isAuthentic(document)).toBe(false)
  })
})

describe("the fuzzer", () => {
  const planted = (run: FuzzTarget["run"], json?: true): FuzzTarget => ({
    name: "planted",
    seeds: () => seedsOf('{"kind":"x","list":[1,2,3],"hash":"00"}'),
    run,
    ...(json && { json }),
  })
  const findsOf = async (target: FuzzTarget, limit = 20_000): Promise<readonly Find[]> => {
    const finds: Find[] = []
    const goesOn = (runs: number): boolean => runs < limit && finds.length === 0
    await fuzz({ target, corpus: [], random: seeded(SEED), goesOn, found: find => finds.push(find) })
    return finds
  }
  const parsed = (input: Uint8Array): unknown => {
    try {
      return JSON.parse(textOf(input))
    } catch {
      return undefined
    }
  }

  test("finds a promise that bytes break", async () => {
    const [find] = await findsOf(planted(input => promise(!textOf(input).includes("\0"), "no NUL")))
    expect(find?.problem).toBe("BrokenPromise: no NUL")
  })

  test("finds a promise that only well-formed JSON breaks", async () => {
    const withKey = (input: Uint8Array): boolean => Object.hasOwn(Object(parsed(input)), "__proto__")
    const finds = await findsOf(planted(input => promise(!withKey(input), "no such key"), true))
    expect(finds).toHaveLength(1)
  })

  test("makes the same inputs from the same seed", async () => {
    const seen = async (): Promise<readonly string[]> => {
      const inputs: string[] = []
      const target = planted(input => void inputs.push(textOf(input)), true)
      await fuzz({ target, corpus: [], random: seeded(7), goesOn: runs => runs < 200, found: () => undefined })
      return inputs
    }
    expect(await seen()).toEqual(await seen())
  })

  test("seals a changed record again, hash by hash, up to what only a key can make", () => {
    const [bundle] = TARGETS.find(({ name }) => name === "document")!
      .seeds()
      .filter(seed => textOf(seed).includes('"manifest":'))
    const changed = textOf(bundle!).replace('"route_id":"claims/triage"', '"route_id":"claims/other"')
    const sealed = sealAgain(changed)
    expect(sealed === changed).toBe(false)
    expect(sealAgain(sealed) === sealed).toBe(true)
    expect(sealAgain(textOf(bundle!)) === textOf(bundle!)).toBe(true)
  })

  test("sees that an input reaches code of ours that no other did", async () => {
    const target = TARGETS.find(({ name }) => name === "vkey")!
    const [plain] = target.seeds()
    const coverage = countCoverage()
    try {
      await target.run(plain!)
      expect(coverage.note()).toBe(true)
      await target.run(plain!)
      expect(coverage.isNew()).toBe(false)
      await target.run(plain!.subarray(1))
      expect(coverage.isNew()).toBe(true)
    } finally {
      coverage.close()
    }
  })

  test("runs a target in a thread, and ends", { timeout: TIMEOUT_MS }, async () => {
    const { finds, runs } = await watchedFuzz({ target: "vkey", seed: SEED, corpus: [], until: Date.now() + 1000 })
    expect(finds).toEqual([])
    expect(runs).toBeGreaterThan(0)
  })
})
