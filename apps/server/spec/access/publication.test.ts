/** Publishing and withdrawing runs: docs/api.md, "POST /admin/runs/{id}/publish" and "Public bundles". */
import { createHash } from "node:crypto"
import { publishedRunSchema, unpublishedRunSchema } from "@runseal/core/wire/key-requests"
import * as v from "valibot"
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { ADMIN, CUSTOMER, caller, type Holder, mint } from "../harness/key-holders.ts"
import { expectRefused, numberAt, textAt } from "../harness/read-answer.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

eachDatabase("publication", open => {
  const service = standingService(() => ({ open }))
  const anybody = (): Holder => caller(service())
  let admin: Holder
  let second: Holder
  let customer: Holder
  let anonymousRun = 0
  beforeAll(async () => {
    anonymousRun = await runOf(anybody())
    admin = await mint(service(), ADMIN)
    second = await mint(service(), { ...ADMIN, name: "ops 2" }, admin)
    customer = await mint(service(), CUSTOMER, admin)
  })

  const runOf = async (holder: Holder): Promise<number> => numberAt((await holder.execute(request())).body, "run_id")
  const publish = (id: number, holder = admin) => holder.post(`/admin/runs/${id}/publish`)
  const unpublish = (id: number, holder = admin) => holder.post(`/admin/runs/${id}/unpublish`)
  const published = async (): Promise<{ readonly id: number; readonly token: string; readonly path: string }> => {
    const id = await runOf(admin)
    const token = textAt((await publish(id)).body, "token")
    return { id, token, path: `/public/runs/${token}/bundle.json` }
  }

  describe("publish", () => {
    test("answers run_id, a token of 32 hex digits and the bundle's address", async () => {
      const id = await runOf(admin)
      const { status, body, headers } = await publish(id)
      expect(status).toBe(200)
      expect(v.is(publishedRunSchema, body)).toBe(true)
      const token = textAt(body, "token")
      expect(body).toEqual({ ok: true, run_id: id, token, url: `http://localhost/public/runs/${token}/bundle.json` })
      expect(headers.get("cache-control")).toBe("no-store")
    })

    test("keeps the token of a run that is published, also when asked for at the same time", async () => {
      const { id, token } = await published()
      const again = await Promise.all(Array.from({ length: 8 }, () => publish(id)))
      expect(new Set(again.map(({ body }) => body.token))).toEqual(new Set([token]))
      const fresh = await runOf(admin)
      const first = await Promise.all(Array.from({ length: 8 }, () => publish(fresh)))
      expect(new Set(first.map(({ body }) => body.token)).size).toBe(1)
    })

    test("is for the admin key that made the run: for every other run there is no such run", async () => {
      const absent = (await publish(999_999)).body.error
      for (const id of [await runOf(second), await runOf(customer), anonymousRun]) {
        const answer = await publish(id)
        expectRefused(answer, 404)
        expect(answer.body.error).toBe(absent)
      }
      for (const id of ["0", "x", "01", "1.5"]) expectRefused(await admin.post(`/admin/runs/${id}/publish`), 404)
    })
  })

  describe("the public bundle", () => {
    test("is the bundle byte for byte, for anybody, whatever the key header says", async () => {
      const { id, path } = await published()
      const sealed = (await admin.get(`/runs/${id}/artifacts`)).text
      for (const holder of [anybody(), customer, caller(service(), "rsk_nonsense")]) {
        const answer = await holder.get(path)
        expect(answer.status).toBe(200)
        expect(answer.headers.get("content-type")).toBe("application/json")
        expect(answer.text).toBe(sealed)
      }
    })

    test("may be cached for an hour, and its ETag is of its bytes", async () => {
      const { path } = await published()
      const { headers, text } = await anybody().get(path)
      expect(headers.get("cache-control")).toBe("public, max-age=3600")
      expect(headers.get("etag")).toBe(`"${createHash("sha256").update(text).digest("hex")}"`)
    })

    test("is not sent again to a client that has it", async () => {
      const { path } = await published()
      const tag = (await anybody().get(path)).headers.get("etag") ?? ""
      for (const sent of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
        const response = await service().request(path, { headers: { "If-None-Match": sent } })
        expect([response.status, await response.text(), response.headers.get("etag")], sent).toEqual([304, "", tag])
        expect(response.headers.get("cache-control")).toBe("public, max-age=3600")
      }
      for (const sent of ['"other"', tag.slice(1, -1), ""])
        expect((await service().request(path, { headers: { "If-None-Match": sent } })).status, sent).toBe(200)
    })

    test("is not found under any other token, and no cache keeps that", async () => {
      const { token } = await published()
      const other = `${token.startsWith("0") ? "1" : "0"}${token.slice(1)}`
      const tokens = [
        other,
        token.toUpperCase().replace(/^\d+$/, "A"),
        token.slice(1),
        `${token}0`,
        "%00",
        `${token}%20`,
      ]
      const answers = new Set<string>()
      for (const name of tokens) {
        const answer = await anybody().get(`/public/runs/${name}/bundle.json`)
        answers.add(expectRefused(answer, 404))
        expect(answer.headers.get("cache-control")).toBe("no-store")
        expect(answer.headers.has("etag")).toBe(false)
      }
      expect(answers.size).toBe(1)
    })

    test("is served for a refused run as well", async () => {
      const denied = await admin.execute(request({ payload: EICAR }))
      const token = textAt((await publish(numberAt(denied.body, "run_id"))).body, "token")
      const { body } = await anybody().get(`/public/runs/${token}/bundle.json`)
      expect(body).toMatchObject({ run: { outcome_kind: "pepg_deny" } })
    })
  })

  describe("unpublish", () => {
    test("ends it at once at the service; a later publication has another token", async () => {
      const { id, path, token } = await published()
      const { status, body } = await unpublish(id)
      expect(status).toBe(200)
      expect(v.is(unpublishedRunSchema, body)).toBe(true)
      expect(body).toEqual({ ok: true, run_id: id, published: false })
      expectRefused(await anybody().get(path), 404)
      const next = textAt((await publish(id)).body, "token")
      expect(next).not.toBe(token)
      expectRefused(await anybody().get(path), 404)
      expect((await anybody().get(`/public/runs/${next}/bundle.json`)).status).toBe(200)
    })

    test("is for any admin key and any run, published or not; for no run there is none", async () => {
      const { id, path } = await published()
      expect((await unpublish(id, second)).status).toBe(200)
      expectRefused(await anybody().get(path), 404)
      for (const run of [id, anonymousRun, await runOf(customer)])
        expect((await unpublish(run, second)).body).toEqual({ ok: true, run_id: run, published: false })
      expectRefused(await unpublish(999_999), 404)
    })
  })

  test("a publication outlives the revocation of the key that made it, and another admin withdraws it", async () => {
    const leaver = await mint(service(), ADMIN, admin)
    const id = await runOf(leaver)
    const path = `/public/runs/${textAt((await publish(id, leaver)).body, "token")}/bundle.json`
    await admin.send("DELETE", `/admin/keys/${leaver.id}`)
    expect((await anybody().get(path)).status).toBe(200)
    await unpublish(id)
    expectRefused(await anybody().get(path), 404)
  })

  test("GET /runs/{id}/bundle.json serves no run and tells of none, with a key or without", async () => {
    const { id } = await published()
    const answers = new Set<string>()
    for (const holder of [anybody(), admin, customer])
      for (const run of [id, anonymousRun, 999_999, "x"])
        answers.add(expectRefused(await holder.get(`/runs/${run}/bundle.json`), 404))
    expect(answers.size).toBe(1)
  })

  test("no route id makes a run public", async () => {
    const { body } = await customer.execute(request({ route_id: "public/anything" }))
    expectRefused(await anybody().get(`/runs/${numberAt(body, "run_id")}/bundle.json`), 404)
    const [{ rows } = { rows: -1 }] = await service().db.sql<{ rows: number }[]>`
      select count(*) as rows from publication where run_id = ${numberAt(body, "run_id")}`
    expect(rows).toBe(0)
  })
})

describe("with --base-url", () => {
  const service = standingService(() => ({ config: { baseUrl: "https://attest.example/api" } }))

  test("the bundle's address is under it", async () => {
    const admin = await mint(service(), ADMIN)
    const id = numberAt((await admin.execute(request())).body, "run_id")
    const { body } = await admin.post(`/admin/runs/${id}/publish`)
    expect(body.url).toBe(`https://attest.example/api/public/runs/${textAt(body, "token")}/bundle.json`)
  })
})
