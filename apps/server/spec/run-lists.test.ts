/** Run summaries, and the filters of the search: docs/api.md, "GET /runs" and "GET /runs/search". */
import type { JsonObject } from "@runseal/canonical"
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { type Answer, expectRefused, keysOf, listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const OTHER_PROGRAM = "0f".repeat(32)
const DAY_MS = 86_400_000

eachDatabase("run lists", open => {
  const service = standingService(() => ({ open }))
  let answers: readonly Answer[] = []

  const list = async (path: string): Promise<JsonObject> => {
    const { status, body, text } = await service().get(path)
    expect(status, text).toBe(200)
    return body
  }
  const ids = (body: JsonObject): readonly number[] => listAt(body, "runs").map(run => numberAt(run, "id"))
  const found = async (query: Record<string, string>): Promise<readonly number[]> =>
    ids(await list(`/runs/search?${new URLSearchParams(query)}`))

  test("an empty list is a list: total 0, default limit 50, offset 0", async () => {
    for (const path of ["/runs", "/runs/search"])
      expect(await list(path)).toEqual({ ok: true, total: 0, limit: 50, offset: 0, runs: [] })
  })

  describe("with runs", () => {
    beforeAll(async () => {
      const bodies = [
        request(),
        request({ program_id: OTHER_PROGRAM }),
        request({ payload: EICAR }),
        request({ route_id: "50%_off\\'x" }),
        request({ route_id: "other" }),
        request({ program_id: OTHER_PROGRAM, payload: EICAR }),
        request({ attested_context: { attested: true, actor_id: ACTOR } }),
      ]
      const made: Answer[] = []
      for (const body of bodies) {
        made.push(await service().execute(body))
        service().clock.advance(DAY_MS)
      }
      answers = made
    })

    test("runs come newest first, with total, limit and offset", async () => {
      const body = await list("/runs")
      expect(keysOf(body)).toEqual(["limit", "offset", "ok", "runs", "total"])
      expect(body).toMatchObject({ ok: true, total: 7, limit: 50, offset: 0 })
      expect(ids(body)).toEqual([7, 6, 5, 4, 3, 2, 1])
    })

    test("a summary has exactly the specified fields", async () => {
      const [denied] = listAt(await list("/runs?offset=1&limit=1"), "runs")
      expect(denied).toEqual({
        id: 6,
        created_at: expect.stringMatching(/^2026-05-09T12:\d\d:\d\d\.\d{3}Z$/),
        program_id: OTHER_PROGRAM,
        route_id: request().route_id,
        manifest_hash: textAt(answers[5]!.body, "partial_manifest", "ManifestHash"),
        duration_ms: answers[5]!.body.duration_ms,
        status: "pepg_deny",
        outcome_kind: "pepg_deny",
        error_stage: "PEPG",
        execution_region: "eu-test-1",
        explanation: { reason: "MCD_SIGNATURE_MATCH", rule_id: expect.stringMatching(/^MCD-/) },
      })
    })

    test("an ok run's summary shows its ManifestHash and an empty error_stage", async () => {
      const [newest] = listAt(await list("/runs"), "runs")
      expect(newest).toMatchObject({
        manifest_hash: textAt(answers[6]!.body, "manifest", "ManifestHash"),
        status: "ok",
        error_stage: "",
      })
    })

    test("pages follow each other without gap or overlap; beyond the end they are empty", async () => {
      const pages = await Promise.all([0, 3, 6, 9].map(offset => list(`/runs?limit=3&offset=${offset}`)))
      expect(pages.map(ids)).toEqual([[7, 6, 5], [4, 3, 2], [1], []])
      expect(pages.map(page => page.total)).toEqual([7, 7, 7, 7])
    })

    test("limit may be 1 to 500, offset as large as an exact integer", async () => {
      expect((await list("/runs?limit=500")).limit).toBe(500)
      expect(ids(await list("/runs?limit=1"))).toEqual([7])
      expect(ids(await list(`/runs?offset=${Number.MAX_SAFE_INTEGER}`))).toEqual([])
      expect(ids(await list(`/runs/search?status=ok&offset=${Number.MAX_SAFE_INTEGER}`))).toEqual([])
    })

    test("a search without filters is the list", async () => {
      expect(await list("/runs/search?limit=4&offset=2")).toEqual(await list("/runs?limit=4&offset=2"))
    })

    test("search by manifest hash: any prefix down to one digit, the whole hash too", async () => {
      const hash = textAt(answers[1]!.body, "manifest", "ManifestHash")
      expect(await found({ manifest_hash: hash })).toEqual([2])
      expect(await found({ manifest_hash: hash.slice(0, 12) })).toEqual([2])
      expect(await found({ manifest_hash: hash.slice(0, 1) })).toContain(2)
    })

    test("search by program, by route and by status", async () => {
      expect(await found({ program_id: OTHER_PROGRAM })).toEqual([6, 2])
      expect(await found({ route_id: "other" })).toEqual([5])
      expect(await found({ status: "pepg_deny" })).toEqual([6, 3])
      expect(await found({ status: "ok" })).toEqual([7, 5, 4, 2, 1])
      expect(await found({ status: "stage_error" })).toEqual([])
    })

    test("a route is compared as text: no wildcards, no SQL", async () => {
      expect(await found({ route_id: "50%_off\\'x" })).toEqual([4])
      expect(await found({ route_id: "%" })).toEqual([])
      expect(await found({ route_id: "' or '1'='1" })).toEqual([])
    })

    test("search by the beginning of a route, letter by letter", async () => {
      expect(await found({ route_prefix: "oth" })).toEqual([5])
      expect(await found({ route_prefix: "50%_" })).toEqual([4])
      expect(await found({ route_prefix: "50__" })).toEqual([])
      expect(await found({ route_prefix: ROUTE, program_id: OTHER_PROGRAM })).toEqual([6, 2])
    })

    test("after gives the runs that come next after one, the nearest, newest first", async () => {
      expect(await found({ after: "3", limit: "2" })).toEqual([5, 4])
      expect(await found({ after: "3" })).toEqual([7, 6, 5, 4])
      expect(await found({ after: "2", limit: "1", status: "pepg_deny" })).toEqual([3])
      expect(await found({ after: "7" })).toEqual([])
      for (const place of ["before=5", "offset=1"])
        expect(expectRefused(await service().get(`/runs/search?after=3&${place}`), 400)).toMatch(
          / and after must not be given together\.$/,
        )
    })

    test("details name who acted and the whole of why, as the record alone says it; without them a list is as it was", async () => {
      const body = await list("/runs/search?details=record&limit=2")
      const [passed, denied] = listAt(body, "runs").map(run => objectAt(run))
      expect(passed?.who).toEqual({ actor_id: ACTOR })
      expect(passed).not.toHaveProperty("explanation")
      expect(denied?.explanation).toMatchObject({
        reason: "MCD_SIGNATURE_MATCH",
        title: expect.any(String),
        matched_in: "payload",
      })
      expect(denied?.explanation).not.toHaveProperty("read")
      for (const run of listAt(await list("/runs/search?limit=2"), "runs")) expect(run).not.toHaveProperty("who")
    })

    test("search by date: from and to are included", async () => {
      const at = async (id: number): Promise<string> => textAt((await service().get(`/runs/${id}`)).body, "created_at")
      expect(await found({ from: await at(5) })).toEqual([7, 6, 5])
      expect(await found({ to: await at(2) })).toEqual([2, 1])
      expect(await found({ from: await at(3), to: await at(3) })).toEqual([3])
      expect(await found({ from: "2026-05-06T00:00:00+02:00", to: "2026-05-07T23:59:59Z" })).toEqual([4, 3])
      expect(await found({ from: "0000-01-01T00:00:00Z", to: "9999-12-31T23:59:59.999Z" })).toHaveLength(7)
    })

    test("filters narrow each other, and total counts what they leave", async () => {
      const query = new URLSearchParams({ program_id: OTHER_PROGRAM, status: "pepg_deny", route_id: ROUTE, limit: "1" })
      const body = await list(`/runs/search?${query}`)
      expect({ total: body.total, ids: ids(body) }).toEqual({ total: 1, ids: [6] })
      expect(await list("/runs/search?status=ok&limit=2&offset=2")).toMatchObject({ total: 5, limit: 2, offset: 2 })
    })

    test("next of a page is before of the next one, with every filter and the total of all", async () => {
      for (const path of ["/runs", "/runs/search"]) {
        const pages = [await list(`${path}?limit=3`), await list(`${path}?limit=3&before=5`)]
        const last = await list(`${path}?limit=3&before=2`)
        expect(pages.map(({ total, next }) => [total, next])).toEqual([
          [7, 5],
          [7, 2],
        ])
        expect([...pages, last].map(ids)).toEqual([[7, 6, 5], [4, 3, 2], [1]])
        expect(keysOf(last)).toEqual(["limit", "offset", "ok", "runs", "total"])
      }
      const denied = await list("/runs/search?status=pepg_deny&limit=1&before=6")
      expect(denied).toMatchObject({ total: 2, next: 3, runs: [{ id: 3 }] })
    })

    test("a page begins at one place", async () => {
      for (const path of ["/runs", "/runs/search"])
        expect(expectRefused(await service().get(`${path}?offset=1&before=5`), 400)).toBe(
          "offset and before must not be given together.",
        )
    })

    test.each(BAD_PAGES)("a bad page is a 400: %s", async query => {
      for (const path of ["/runs", "/runs/search"]) {
        const error = expectRefused(await service().get(`${path}?${query}`), 400)
        expect(error).toMatch(/^(limit|offset) must be/)
      }
    })

    test("a parameter given twice is a 400 that names it, whatever its values", async () => {
      for (const query of ["limit=1&limit=abc", "offset=0&limit=2&offset=1", "limit=1&li%6dit=2"])
        expect(expectRefused(await service().get(`/runs?${query}`), 400)).toMatch(/^(limit|offset) must be given once/)
    })

    test("a parameter that an endpoint does not have is a 400 that names it and those it has", async () => {
      for (const name of ["page", "constructor", "status"]) {
        const error = expectRefused(await service().get(`/runs?limit=1&${name}=1`), 400)
        expect(error).toBe(`There is no query parameter ${name}; this endpoint takes limit, offset, before.`)
      }
      // What is not spelt like a parameter, or could be a secret, is not repeated.
      for (const name of [
        "Limit",
        "limit[]",
        "__proto__",
        "__proto__[limit]",
        "rsk_5ec2e7",
        `p${"a".repeat(32)}`,
        "a%0ab",
      ]) {
        const error = expectRefused(await service().get(`/runs?limit=1&${name}=1`), 400)
        expect(error).toBe("An unknown query parameter was given; this endpoint takes limit, offset, before.")
      }
      const search = expectRefused(await service().get("/runs/search?actor=ada"), 400)
      expect(search).toMatch(/takes limit, offset, before, after, details, manifest_hash, program_id, .*from, to\.$/)
    })

    test("pages for people, and what fails only where it cannot be reached, ignore unknown parameters", async () => {
      // Every other status of it means that the service cannot be reached.
      expect((await service().get("/health?x=1&x=2&cb=%ff")).body).toMatchObject({ ok: true, service: "runseal" })
      expect((await service().get("/verify?utm_source=mail")).status).toBe(200)
      expect((await service().get("/nowhere?x=1")).status).toBe(404)
      expect((await service().get("/runs?&limit=1&")).status).toBe(200)
    })

    test("a day without a time is that day of UTC, from its start to its end", async () => {
      expect(await found({ from: "2026-05-06" })).toEqual(await found({ from: "2026-05-06T00:00:00Z" }))
      expect(await found({ to: "2026-05-06" })).toEqual(await found({ to: "2026-05-06T23:59:59.999Z" }))
      expect(await found({ from: "2026-05-06", to: "2026-05-06" })).toEqual([3])
      expect(await found({ from: "2026-05-06", to: "2026-05-07" })).toEqual([4, 3])
    })

    test("a range that ends before it starts is a 400", async () => {
      for (const query of ["from=2026-05-07&to=2026-05-06", "from=2026-05-06T00:00:01Z&to=2026-05-06T00:00:00Z"])
        for (const path of ["/runs/search", "/runs/export"])
          expect(expectRefused(await service().get(`${path}?${query}`), 400)).toBe("from must not be later than to.")
    })

    test.each(["route_id=%ff", "route_id=%", "%zz=1"])(
      "a query that is no percent-encoded UTF-8 is a 400: %s",
      async query => {
        expectRefused(await service().get(`/runs/search?${query}`), 400)
      },
    )

    test.each(BAD_FILTERS)("a bad filter is a 400 that names it: %s=%s", async (name, value) => {
      const answer = await service().get(`/runs/search?${new URLSearchParams({ [name]: value })}`)
      expect(expectRefused(answer, 400)).toMatch(new RegExp(`^${name} must be`))
    })
  })
})

const ACTOR = "treasury-agent-07"
const ROUTE = String(request().route_id)

const BAD_PAGES = [
  ...["limit=0", "limit=501", "limit=-1", "limit=1.5", "limit=abc", "limit=", "limit=1e2", "limit=0x10", "limit=%2050"],
  ...["limit=NaN", "limit=Infinity", "limit=%D9%A1", "limit=1,2", `limit=${"9".repeat(1000)}`],
  ...["offset=-1", "offset=1.5", "offset=abc", "offset=", "offset=9007199254740992", "offset=99999999999999999999"],
]
const BAD_FILTERS: readonly (readonly [string, string])[] = [
  ["manifest_hash", "AB"],
  ["manifest_hash", "a".repeat(65)],
  ["program_id", "A1".repeat(32)],
  ["route_id", "r".repeat(513)],
  ["route_id", "a\u0000b"],
  ["status", "OK"],
  ["details", "all"],
  ["closing_outcome", "done"],
  ["after", "0"],
  ["from", "2026-05-4"],
  ["from", "2026-02-30"],
  ["from", "2026-02-30T00:00:00Z"],
  ["from", "2026-13-01T00:00:00Z"],
  ["from", "+275760-09-13T00:00:00Z"],
  ["from", "9999999999999"],
  ["from", "now"],
  ["to", "2026-05-04T12:00:00"],
]
