/** docs/console.md, *Log health*, and docs/api.md, "The log": what is wrong with the witnesses of a log is shown. */
import { generateKeyPairSync, sign } from "node:crypto"
import { cosignatureLine } from "@runseal/log/entries/log-signing"
import { noteKey } from "@runseal/log/notes/signed-note"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { parseWitness, type Witness } from "../src/options/witness.ts"
import { keepWitnessed } from "../src/store/tables/witnessed-checkpoint.ts"
import { testClock } from "./harness/clock.ts"
import { ADMIN, caller, mint } from "./harness/key-holders.ts"
import { rekorConfig, retryQuickly, untilDelivered } from "./harness/outbox-waits.ts"
import { runSql } from "./harness/read-tables.ts"
import { rekorError, startRekor } from "./harness/rekor-server.ts"
import { request } from "./harness/sample-requests.ts"
import { openService, standingService, type TestService } from "./harness/test-service.ts"
import { until } from "./harness/until.ts"
import { endWitnesses, startImpostor } from "./harness/witnesses.ts"

afterAll(endWitnesses)

const asked = (option: string): Witness => {
  const witness = parseWitness(option)
  if (witness === undefined) throw new Error("no witness")
  return witness
}

/** A page as an administrator sees it, *Log health* where no path is given. */
async function pageOf(service: TestService, key: string, path = "/console/log"): Promise<string> {
  const session = await service.request("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key }),
  })
  const Cookie = (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
  return (await service.request(path, { headers: { Cookie } })).text()
}

/** What the overview says that needs attention: each kind with its sign, and whether all is well. */
async function overviewOf(service: TestService, key: string): Promise<readonly string[]> {
  const page = await pageOf(service, key, "/console")
  const kinds = [...page.matchAll(/aria-hidden="true">(.)<\/span><div><h3>([^<]*)<\/h3>/g)]
  const well = page.includes("All is well.") ? ["All is well."] : []
  return [...kinds.map(([, sign = "", title = ""]) => `${sign} ${title}`), ...well]
}

const UNWITNESSED = "! The log is not witnessed as it should be"

const verdictOn = (page: string): readonly string[] => {
  const [, tone = "", body = ""] = /<div class="notice (\w+)" role="status">([\s\S]*?)<\/div>/.exec(page) ?? []
  return [tone, ...[...body.matchAll(/<p>([^<]*)<\/p>/g)].flatMap(([, text]) => text ?? [])]
}

/** Stores a checkpoint of the service with the line of a witness, as of a time when it was asked. */
async function signBefore(service: TestService, name: string): Promise<void> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519")
  const spki = publicKey.export({ type: "spki", format: "der" })
  const key = noteKey(name, "cosignature/v1", new Uint8Array(spki.subarray(-32)))
  const { text } = await service.get("/log/checkpoint")
  const [body = ""] = /^[\s\S]*?\n(?=\n)/.exec(text) ?? []
  const line = cosignatureLine(key, NOW, body, message => sign(null, message, privateKey))
  await keepWitnessed(service.db, { size: 1, checkpoint: text + line })
}

const NOW = Math.floor(Date.now() / 1000)

describe("a log that nobody is asked to sign", () => {
  const service = standingService()
  let secret = ""
  beforeAll(async () => {
    secret = (await mint(service(), ADMIN)).secret ?? ""
  })

  test("is not called healthy", async () => {
    expect((await service().get("/log/witnesses")).body).toEqual({ ok: true, needed: 1, witnesses: [] })
    const [tone, sentence] = verdictOn(await pageOf(service(), secret))
    expect([tone, sentence]).toEqual(["warn", expect.stringContaining("No witness is asked to sign this log")])
    expect(await overviewOf(service(), secret)).toEqual([UNWITNESSED])
    expect(await pageOf(service(), secret, "/console")).toContain(sentence)
  })

  test("names a witness that was removed", async () => {
    await signBefore(service(), "gone.example")
    const { body } = await service().get("/log/witnesses")
    expect(body).toMatchObject({
      checkpoint: { size: 1, cosigned_at: new Date(NOW * 1000).toISOString() },
      witnesses: [{ name: "gone.example", asked: false, size: 1 }],
    })
    const page = await pageOf(service(), secret)
    expect(verdictOn(page)).toContain("The witness gone.example signed this log before, and is asked no more.")
    expect(page).toContain("removed</span>")
    const attention = (await caller(service(), secret).get("/attention")).body
    expect(attention).toMatchObject({
      found: { not_witnessed: { count: 2, first: [{ why: "removed", name: "gone.example" }, { why: "none_asked" }] } },
    })
    // The house's own check knows of no witness.
    await runSql(service().db, "delete from witnessed_checkpoint")
  })
})

describe("a log with witnesses", () => {
  const witnesses: Witness[] = []
  let answers: "signs" | "refuses" | "contradicts" = "signs"
  beforeAll(async () => {
    const steady = await startImpostor("steady.example", ({ body, cosign }, response) =>
      response.end(cosign(/\n\n(.*\n)\n/s.exec(body)?.[1] ?? "")),
    )
    const fickle = await startImpostor("fickle.example", ({ body, cosign }, response) => {
      if (answers === "signs") response.end(cosign(/\n\n(.*\n)\n/s.exec(body)?.[1] ?? ""))
      else response.writeHead(answers === "refuses" ? 403 : 422).end()
    })
    witnesses.push(asked(steady.option), asked(fickle.option))
  })
  // Their cosignatures have the time of the machine.
  const clock = { nowMs: Date.now, advance: () => undefined }
  let opened: TestService | undefined
  const service = (): TestService => {
    if (opened === undefined) throw new Error("the service is open during tests only")
    return opened
  }
  let secret = ""
  beforeAll(async () => {
    opened = await openService({ config: { witnesses, witnessesNeeded: 1 }, clock })
    secret = (await mint(service(), ADMIN)).secret ?? ""
  })
  afterAll(() => opened?.close())
  const stateOf = async (name: string): Promise<unknown> => {
    const { witnesses: known = [] } = JSON.parse((await service().get("/log/witnesses")).text)
    return known.find((one: { readonly name: string }) => one.name === name)
  }

  test("is healthy while all of them sign, and names the one that stops, and the one that contradicts", async () => {
    const healthy = ["good", "Records can be sealed, and every witness signs this log."]
    await until("both sign", async () => verdictOn(await pageOf(service(), secret))[0] === "good")
    expect(verdictOn(await pageOf(service(), secret))).toEqual(healthy)
    expect(await overviewOf(service(), secret)).toEqual(["All is well."])
    expect(await pageOf(service(), secret, "/console")).toContain("sealing, whether the clock is behind,")
    answers = "refuses"
    await mint(service(), { name: "grows" }, caller(service(), secret))
    await until("one refuses", async () => JSON.stringify(await stateOf("fickle.example")).includes('"refused"'))
    const page = await pageOf(service(), secret)
    expect(verdictOn(page)).toEqual(["warn", "The witness fickle.example does not sign this log now: it refused."])
    expect(await stateOf("steady.example")).toMatchObject({ asked: true, cosigned_at: expect.any(String) })
    answers = "contradicts"
    await until("it contradicts", async () => verdictOn(await pageOf(service(), secret))[0] === "bad")
    expect(verdictOn(await pageOf(service(), secret))).toContain(
      "The witness fickle.example signed another history of this log.",
    )
    expect(await overviewOf(service(), secret)).toEqual(["✗ 1 witness signed another history of this log"])
  })
})

describe("a log whose witnesses are there and do not sign it now", () => {
  const HOUR_S = 3600
  const witnesses: Witness[] = []
  beforeAll(async () => {
    const late = await startImpostor("late.example", ({ body, cosign }, response) =>
      response.end(cosign(/\n\n(.*\n)\n/s.exec(body)?.[1] ?? "", NOW - HOUR_S)),
    )
    const wrong = await startImpostor("wrong.example", (_, response) => response.end("hello"))
    const away = await startImpostor("away.example", (_, response) => response.destroy())
    witnesses.push(...[late, wrong, away].map(({ option }) => asked(option)))
  })
  let opened: TestService | undefined
  afterAll(() => opened?.close())

  test("names each with its reason, and says that nothing was signed lately", async () => {
    const clock = { nowMs: Date.now, advance: () => undefined }
    const service = await openService({ config: { witnesses, witnessesNeeded: 1 }, clock })
    opened = service
    const secret = (await mint(service, ADMIN)).secret ?? ""
    await until("a checkpoint is cosigned", async () => (await service.get("/log/witnessed-checkpoint")).status === 200)
    const page = await pageOf(service, secret)
    expect(verdictOn(page)).toEqual([
      "warn",
      "The witness late.example does not sign this log now.",
      "The witness wrong.example has not signed this log yet: its answer was not valid.",
      "The witness away.example has not signed this log yet: it cannot be reached.",
      "No checkpoint was signed by 1 witness in the last half hour.",
    ])
    expect(await overviewOf(service, secret)).toEqual([UNWITNESSED, "! 3 witnesses are silent"])
    const shown = page.replace(/<\/?span[^>]*>/g, "")
    for (const state of ["– silent", "✗ invalid", "✗ unreachable"]) expect(shown).toContain(state)
    expect(page).toContain("never</span>")
  })
})

describe("a log whose entries go to an outside log", async () => {
  retryQuickly()
  const clock = testClock()
  const rekor = await startRekor(clock.nowMs)
  const service = standingService(() => ({ clock, config: rekorConfig(rekor) }))
  let secret = ""
  beforeAll(async () => {
    secret = (await mint(service(), ADMIN)).secret ?? ""
  })
  const run = async (): Promise<unknown> => caller(service(), secret).execute(request())
  const page = (): Promise<string> => pageOf(service(), secret)
  /** What the first line has of it. */
  const lineOn = async (): Promise<readonly string[]> => {
    const [tone = "", ...sentences] = verdictOn(await page())
    return [tone, ...sentences.filter(sentence => sentence.includes("rekor.test"))]
  }

  test("says nothing of one that holds all of it", async () => {
    await run()
    await untilDelivered(service())
    expect(await lineOn()).toEqual(["warn"])
    expect(await page()).toMatch(/<h3>rekor\.test<\/h3>.*\n?.*<dt>Backlog<\/dt><dd>none<\/dd>/)
  })

  test("names one that does not take the next entry, why and for how long", async () => {
    rekor.behave(() => rekorError(503, "busy"))
    await run()
    await until("it was refused", async () => (await lineOn()).length > 1)
    clock.advance(180_000)
    expect(await lineOn()).toEqual([
      "bad",
      "rekor.test has not taken the next entry for 3 minutes: it answers with an error of its own.",
    ])
    rekor.behave()
    await untilDelivered(service())
    expect(await lineOn()).toEqual(["warn"])
  })

  test("names one that is late, though nothing has failed yet", async () => {
    rekor.behave(() => "silence")
    await run()
    await until("it was asked", () => rekor.asked().some(({ status }) => status === undefined))
    expect(await lineOn()).toEqual(["warn"])
    clock.advance(601_000)
    expect(await lineOn()).toEqual(["warn", "An entry has waited for rekor.test for 10 minutes."])
    expect(await page()).toContain("the oldest for 10 minutes")
    expect(await overviewOf(service(), secret)).toContain("! 1 outside log is late")
  })
})
