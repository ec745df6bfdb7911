/** Attestations and runs share queue, batch and log, however many callers and processes there are. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import type { AttestationAnswer } from "@runseal/core/artifacts/attestation-answer"
import { describe, expect, test } from "vitest"
import { lockHead } from "../src/store/tables/log-store.ts"
import { bothDatabases, postgresStart, postgresTitle } from "./database/databases.ts"
import { insist } from "./harness/keyed.ts"
import { type Answer, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { readTables } from "./harness/read-tables.ts"
import { request, spending } from "./harness/sample-requests.ts"
import { standingService, type TestService } from "./harness/test-service.ts"
import { standingTwins } from "./harness/twin-services.ts"

const EACH = 100

const digestOf = (i: number): string => i.toString(16).padStart(64, "0")
const attesting = (i: number): JsonObject => ({ digest: digestOf(i), algorithm: "sha256", subject_ref: `${i}` })
/** Every third run is halted by its budget: refused runs are sealed among the others. */
const running = (i: number): JsonObject => (i % 3 === 0 ? spending(2_000_000) : request({ payload: `${i}` }))

type Answers = { readonly attested: readonly Answer[]; readonly executed: readonly Answer[] }

/** Runs and attestations of the anonymous caller, all at once, each service in turn. */
async function mixAll(services: readonly TestService[]): Promise<Answers> {
  const pairs = await Promise.all(
    Array.from({ length: EACH }, (_, i) => {
      const service = services[i % services.length]!
      return Promise.all([insist(service, "/attest", attesting(i)), insist(service, "/execute", running(i))])
    }),
  )
  return { attested: pairs.map(([attested]) => attested), executed: pairs.map(([, executed]) => executed) }
}

function expectEachItsOwn({ attested, executed }: Answers): void {
  expect(attested.map(({ status }) => status)).toEqual(attested.map(() => 201))
  expect(attested.map(({ body }) => body.digest)).toEqual(attested.map((_, i) => digestOf(i)))
  expect(new Set(attested.map(({ body }) => body.attestation_id)).size).toBe(EACH)
  expect(new Set(attested.map(({ body }) => body.log_entry_id)).size).toBe(EACH)
  expect(executed.map(({ status }) => status)).toEqual(executed.map((_, i) => (i % 3 === 0 ? 422 : 200)))
  expect(new Set(executed.map(({ body }) => numberAt(body, "run_id"))).size).toBe(EACH)
}

const treeOf = (anchor: JsonValue | undefined): string => textAt(anchor, "entry", "inclusionProof", "treeSize")
const asJson = (document: AttestationAnswer): JsonValue => ({ ...document })
/** The tree that the run's complete record is proven in. */
async function runTree(service: TestService, { body }: Answer): Promise<string> {
  const bundle = (await service.get(`/runs/${numberAt(body, "run_id")}/artifacts`)).body
  return treeOf(objectAt(bundle, "anchors", "complete_record"))
}

/** Holds the log's head as another process that seals would, until it is released. */
async function holdHead({ db }: TestService): Promise<() => Promise<void>> {
  let release = (): void => undefined
  let holding: Promise<void> = Promise.resolve()
  await new Promise<void>(locked => {
    holding = db.transaction(async tx => {
      await lockHead(tx)
      const released = new Promise<void>(resolve => {
        release = resolve
      })
      locked()
      await released
    })
  })
  return () => {
    release()
    return holding
  }
}

bothDatabases("100 runs and 100 attestations at once", open => {
  const service = standingService(() => ({ open }))

  test("each is answered with its own", async () => {
    expectEachItsOwn(await mixAll([service()]))
  })

  test("they were committed in groups, not one by one", async () => {
    const { attestations } = await readTables(service().db)
    expect(new Set(attestations.map(({ document }) => treeOf(JSON.parse(document)))).size).toBeLessThan(EACH / 3)
  })

  test("attestations of several owners are counted each for itself, in the order of the log", async () => {
    const owners = Array.from({ length: 60 }, (_, i) => 100 + (i % 3))
    await Promise.all(
      owners.map((owner, i) => service().deps.attest(owner, { digest: digestOf(i), algorithm: "sha256" })),
    )
    const { attestations } = await readTables(service().db)
    for (const owner of [100, 101, 102]) {
      const own = attestations.filter(row => row.owner === owner)
      expect(own.map(row => row.owner_ordinal)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
      const indices = own.map(row => row.log_index)
      expect(indices).toEqual(indices.toSorted((a, b) => a - b))
    }
  })
})

describe.skipIf(postgresStart.kind === "absent")(`two services ${postgresTitle}`, () => {
  const twins = standingTwins()

  test("100 runs and 100 attestations at once on both: each is answered with its own, and the log has not forked", async () => {
    expectEachItsOwn(await mixAll(twins()))
  })

  test("both list the same attestations", async () => {
    const [one, two] = twins()
    const path = "/attestations?limit=500"
    expect((await one.get(path)).text).toBe((await two.get(path)).text)
    expect((await two.get(path)).body.total).toBe(EACH)
  })

  test("an attestation of one is judged by the other", async () => {
    const [one, two] = twins()
    const { text } = await one.post("/attest", attesting(7))
    expect((await two.postRaw("/dcae/verify", text)).body).toMatchObject({ verified: true })
  })

  test("what waits is sealed together: runs and attestations of a batch are proven in one tree", async () => {
    const [service] = twins()
    const before = (await readTables(service.db)).movements.length
    const attest = (i: number) => service.deps.attest(0, { digest: digestOf(i), algorithm: "sha256" })
    const release = await holdHead(service)
    const first = attest(0)
    const executed = Array.from({ length: 20 }, () => service.execute(request()))
    // A run that is charged goes to the sealer, whose first batch waits for the log's head.
    while ((await readTables(service.db)).movements.length < before + executed.length);
    await service.get("/runs")
    const attested = [1, 2, 3, 4, 5].map(attest)
    await release()
    const trees = new Set((await Promise.all(attested)).map(({ document }) => treeOf(asJson(document))))
    const runTrees = await Promise.all((await Promise.all(executed)).map(answer => runTree(service, answer)))
    expect(trees.size).toBe(1)
    expect(runTrees.filter(tree => trees.has(tree)).length).toBeGreaterThan(0)
    expect(trees).not.toContain(treeOf(asJson((await first).document)))
  })
})
