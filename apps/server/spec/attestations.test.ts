/** `POST /attest` and `GET /attestations`: docs/api.md, "POST /attest" and "GET /attestations"; docs/formats.md section 7.6. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { type Answer, keysOf, listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { readTables } from "./harness/read-tables.ts"
import { CANARY, refusal } from "./harness/refusal.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"
import { verifyWithCli } from "./harness/verifier.ts"

const DIGEST = "5e".repeat(32)
const SUBJECT = "build 4711 \u202e<&> \u00fc\u{1f600}"
const attesting = (changes: JsonObject = {}): JsonObject => ({ digest: DIGEST, algorithm: "sha256", ...changes })

eachDatabase("attestations", open => {
  const service = standingService(() => ({ open }))

  const attest = async (changes: JsonObject = {}): Promise<Answer> => {
    const answer = await service().post("/attest", attesting(changes))
    expect(answer.status, answer.text).toBe(201)
    return answer
  }
  const list = async (query = ""): Promise<JsonObject> => {
    const { status, body, text } = await service().get(`/attestations${query}`)
    expect(status, text).toBe(200)
    return body
  }
  const trustText = async (): Promise<string> => (await service().get("/.well-known/runseal-trust.json")).text

  test("an empty list is a list: total 0, default limit 50, offset 0", async () => {
    expect(await list()).toEqual({ ok: true, total: 0, limit: 50, offset: 0, attestations: [] })
  })

  describe("POST /attest", () => {
    test("anchors the digest and answers 201 with its leaf and log entry", async () => {
      const { body, headers } = await attest({ subject_ref: SUBJECT })
      expect(headers.get("content-type")).toMatch(/^application\/json/)
      expect(headers.get("cache-control")).toBe("no-store")
      expect(keysOf(body)).toEqual(["attestation_id", "digest", "entry", "leaf", "log_entry_id", "ok"])
      expect(body).toMatchObject({ ok: true, digest: DIGEST, log_entry_id: textAt(body, "entry", "logIndex") })
      expect(objectAt(body, "leaf")).toEqual({
        leaf_version: "vfa.attestation.v1",
        digest: DIGEST,
        algorithm: "sha256",
        subject_ref: SUBJECT,
        attestation_id: expect.stringMatching(/^att-[0-9a-f]{32}$/),
      })
      expect(textAt(body, "attestation_id")).toBe(textAt(body, "leaf", "attestation_id"))
    })

    test("without a subject the leaf has no such key", async () => {
      expect(keysOf((await attest()).body.leaf)).toEqual(["algorithm", "attestation_id", "digest", "leaf_version"])
    })

    test("a subject has 1 to 512 characters", async () => {
      for (const subject_ref of ["x", "s".repeat(512)])
        expect(textAt((await attest({ subject_ref })).body, "leaf", "subject_ref")).toBe(subject_ref)
    })

    test("equal requests are two attestations, each with an entry of its own", async () => {
      const [one, two] = [await attest(), await attest()]
      expect(one.body.attestation_id).not.toBe(two.body.attestation_id)
      expect(Number(textAt(two.body, "log_entry_id"))).toBe(Number(textAt(one.body, "log_entry_id")) + 1)
    })

    test("its entry is the log's, proven against the head that is published", async () => {
      const { body } = await attest()
      const entry = (await service().get(`/log/entry/${textAt(body, "log_entry_id")}`)).body
      expect(entry.canonicalized_body).toBe(textAt(body, "entry", "canonicalizedBody"))
      const [, size, root] = (await service().get("/log/checkpoint")).text.split("\n")
      expect(textAt(body, "entry", "inclusionProof", "treeSize")).toBe(size)
      expect(textAt(body, "entry", "inclusionProof", "rootHash")).toBe(root)
    })

    test("makes no run, charges nothing, and takes no run's number", async () => {
      const [before] = [(await service().execute(request())).body]
      await attest()
      const [after] = [(await service().execute(request())).body]
      expect(numberAt(after, "run_id")).toBe(numberAt(before, "run_id") + 1)
      const { runs, movements } = await readTables(service().db)
      expect(movements.length).toBe(runs.length)
    })

    test.each(BAD_BODIES)("%s is a 400 that names the field, and nothing is anchored", async (_name, body, named) => {
      const error = await refusal(service(), to => to.post("/attest", body))
      expect(error).toContain(named)
    })

    test("while log time would differ from the clock by more than 60 s it answers 503, and nothing is anchored", async () => {
      await attest()
      service().clock.advance(-75_000)
      const error = await refusal(service(), to => to.post("/attest", attesting()), 503)
      service().clock.advance(75_000)
      expect(error).toContain("Nothing was acknowledged")
      await attest()
    })
  })

  describe("GET /attestations", () => {
    beforeAll(async () => {
      for (const subject_ref of ["a", "b", "c", "d", "e", "f", "g"]) await attest({ subject_ref })
    })
    const subjects = (body: JsonObject): readonly JsonValue[] =>
      listAt(body, "attestations").map(item => objectAt(item).subject_ref ?? "")

    test("lists the caller's, newest first, with total, limit and offset", async () => {
      const body = await list("?limit=7")
      expect(keysOf(body)).toEqual(["attestations", "limit", "offset", "ok", "total"])
      expect(body).toMatchObject({ ok: true, limit: 7, offset: 0 })
      expect(subjects(body)).toEqual(["g", "f", "e", "d", "c", "b", "a"])
    })

    test("an item is the attestation with its time, algorithm and subject", async () => {
      const { body } = await attest({ subject_ref: SUBJECT })
      const { ok: _ok, ...attestation } = body
      const logged = Number(textAt(body, "entry", "integratedTime"))
      expect(listAt(await list("?limit=1"), "attestations")).toEqual([
        {
          ...attestation,
          created_at: new Date(logged * 1000).toISOString(),
          algorithm: "sha256",
          subject_ref: SUBJECT,
        },
      ])
      await attest()
      expect(keysOf(listAt(await list("?limit=1"), "attestations")[0])).not.toContain("subject_ref")
    })

    test("pages follow each other without gap or overlap; beyond the end they are empty", async () => {
      const { total } = await list()
      const pages: JsonObject[] = []
      for (let offset = 0; offset <= Number(total); offset += 3) pages.push(await list(`?limit=3&offset=${offset}`))
      const ids = pages.flatMap(page => listAt(page, "attestations").map(item => textAt(item, "attestation_id")))
      expect(new Set(ids).size).toBe(Number(total))
      expect(ids).toHaveLength(Number(total))
      expect(pages.map(page => page.total)).toEqual(pages.map(() => total))
      expect(await list(`?offset=${Number.MAX_SAFE_INTEGER}`)).toMatchObject({ total, attestations: [] })
    })

    test("shows nobody else's", async () => {
      const { total } = await list()
      const { document } = await service().deps.attest(17, { digest: "77".repeat(32), algorithm: "sha256" })
      expect(document.digest).toBe("77".repeat(32))
      expect(await list()).toMatchObject({ total })
      expect(JSON.stringify(await list("?limit=500"))).not.toContain("77".repeat(32))
    })
  })

  describe("saved to a file", () => {
    const saved = async (): Promise<readonly string[]> => {
      const { text } = await attest({ subject_ref: SUBJECT })
      const [item] = listAt(await list("?limit=1"), "attestations")
      return [text, JSON.stringify(item)]
    }

    test("the answer as it is, and an item of the list, verify with the command-line verifier", async () => {
      for (const text of await saved()) {
        const { exit, verdict, stdout } = await verifyWithCli(text, await trustText())
        expect({ exit, verdict }, stdout).toEqual({ exit: 0, verdict: "ATTESTATION VERIFIED AND ANCHORED" })
      }
    })

    test("the service's own verifier says the same", async () => {
      for (const text of await saved()) {
        const { body } = await service().postRaw("/dcae/verify", text)
        expect(body).toMatchObject({ verified: true, verdict: "ATTESTATION VERIFIED AND ANCHORED" })
      }
    })
  })
})

const BAD_BODIES: readonly (readonly [string, JsonObject, string])[] = [
  ["no digest", { algorithm: "sha256" }, "digest"],
  ["no algorithm", { digest: DIGEST }, "algorithm"],
  ["a short digest", attesting({ digest: "5e" }), "digest"],
  ["an upper-case digest", attesting({ digest: DIGEST.toUpperCase() }), "digest"],
  ["a digest with a space", attesting({ digest: ` ${DIGEST}`.slice(0, 64) }), "digest"],
  ["a digest that is a number", attesting({ digest: 1 }), "digest"],
  ["no digest but null", attesting({ digest: null }), "digest"],
  ["another algorithm", attesting({ algorithm: "sha512" }), "algorithm"],
  ["an algorithm spelt otherwise", attesting({ algorithm: "SHA-256" }), "algorithm"],
  ["an empty subject", attesting({ subject_ref: "" }), "subject_ref"],
  ["a subject that is too long", attesting({ subject_ref: `${CANARY}${"s".repeat(512)}` }), "subject_ref"],
  ["a subject that is an object", attesting({ subject_ref: { name: CANARY } }), "subject_ref"],
  ["U+0000 in the subject", attesting({ subject_ref: `a\u0000${CANARY}` }), "subject_ref: U+0000"],
  [
    "a misspelt member",
    attesting({ subject: "release.tar.gz" }),
    "The body has no field subject; its fields are digest, algorithm, subject_ref.",
  ],
  [
    "an unknown member whose name is not shown",
    attesting({ [CANARY]: 1 }),
    "The body has a field that it does not accept; its fields are",
  ],
  ["an unknown member with U+0000", attesting({ [`a\u0000${CANARY}`]: 1 }), "its fields are digest"],
]
