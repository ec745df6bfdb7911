/**
 * Every endpoint is public, keyed or administrative; one that is not listed as public needs a key. docs/api.md, "Keys". Who is
 * answered what is in authorization-matrix.ts.
 */
import { beforeAll, describe, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { endpointOf } from "../harness/described.ts"
import { ADMIN, caller, mint } from "../harness/key-holders.ts"
import { expectRefused } from "../harness/read-answer.ts"
import { standingService } from "../harness/test-service.ts"

/** All that may be read without a key: the probes, the log, the trust documents, published bundles, the description. */
const PUBLIC: readonly string[] = [
  "GET /health",
  "GET /ready",
  "GET /version",
  "GET /log/checkpoint",
  "GET /log/witnessed-checkpoint",
  "GET /log/genesis",
  "GET /log/key-changes",
  "GET /log/witnesses",
  "GET /log/tile/:level/:index{.+}",
  "GET /log/entry/:index",
  "GET /log/consistency",
  "GET /.well-known/runseal-trust.json",
  "GET /.well-known/trusted-root.json",
  "GET /.well-known/service.pub",
  "GET /runs/:id/bundle.json",
  "GET /public/runs/:token/bundle.json",
  "GET /public/runs/:token/statement.intoto.json",
  "GET /public/runs/:token",
  "GET /shared/:token/bundle.json",
  "GET /shared/:token/report.pdf",
  "GET /shared/:token",
  "GET /verify",
  "GET /openapi.json",
  "GET /docs",
  "GET /docs/:file",
  "GET /console",
  "GET /console/:page{.+}",
  "POST /console/:page{.+}",
]

/** What docs/api.md keeps: the list of routes is found to have at least these. */
const KEYED: readonly string[] = [
  "POST /execute",
  "POST /execute/verify-determinism",
  "POST /dcae/verify",
  "POST /attest",
  "GET /attestations",
  "GET /runs",
  "GET /runs/search",
  "GET /runs/export",
  "GET /runs/:id",
  "GET /runs/:id/verify",
  "GET /runs/:id/artifacts",
]
const runPart = (part: string): string => `GET /admin/runs/:id/${part}`
const ADMINISTRATIVE: readonly string[] = [
  "GET /admin/keys",
  "POST /admin/keys",
  "DELETE /admin/keys/:id",
  "GET /admin/overview",
  "POST /admin/runs/:id/share",
  "GET /admin/shares",
  "DELETE /admin/shares/:id",
  "GET /admin/events",
  "GET /admin/deliveries",
  "GET /admin/destinations",
  "POST /admin/destinations",
  "PATCH /admin/destinations/:id",
  "DELETE /admin/destinations/:id",
  "POST /admin/destinations/:id/rotate",
  "POST /admin/destinations/:id/test",
  "POST /admin/destinations/:id/resume",
  "PATCH /admin/keys/:id",
  "POST /admin/keys/:id/rotate",
  "GET /admin/policies",
  "GET /admin/policies/:version",
  "POST /admin/policies",
  "POST /admin/policies/dry-run",
  "GET /admin/runs",
  "GET /admin/runs/export",
  "GET /admin/runs/:id",
  ...["verify", "artifacts", "report.pdf", "statement.intoto.json", "allow-token", "deny-receipt"].map(runPart),
  ...["ccv-halt-receipt", "macc-halt-receipt", "aivp-t4-halt-receipt", "attestation-gap-receipt"].map(runPart),
  "GET /admin/permits",
  "GET /admin/permits/:id",
  "GET /admin/published",
  "GET /admin/usage",
  "GET /admin/policy",
  "GET /admin/audit",
  "GET /admin/audit/export",
  "GET /admin/audit/:ordinal",
  "POST /admin/runs/claim",
  "POST /admin/runs/:id/publish",
  "POST /admin/runs/:id/unpublish",
]

describe("routes", () => {
  const service = standingService()
  let routes: readonly string[] = []

  beforeAll(async () => {
    const { routes: registered } = createApp(service().deps)
    expect(new Set(registered.filter(({ method }) => method === "ALL").map(({ path }) => path))).toEqual(
      new Set(["/*", "/admin/*"]),
    )
    routes = [
      ...new Set(registered.filter(({ method }) => method !== "ALL").map(({ method, path }) => `${method} ${path}`)),
    ]
    await mint(service(), ADMIN)
  })

  const isAdministrative = (route: string): boolean => route.includes(" /admin/")

  /** The route with something in each place. */
  function call(route: string): readonly [method: string, path: string] {
    const [method = "", pattern = ""] = route.split(" ")
    const path = pattern.replace(":token", "0".repeat(32)).replace(/:\w+(\{\.\+\})?/g, "1")
    return [method, path]
  }

  test("are all that docs/api.md names", () => {
    expect(routes).toEqual(expect.arrayContaining([...PUBLIC, ...KEYED, ...ADMINISTRATIVE]))
    expect(routes.filter(isAdministrative).sort()).toEqual([...ADMINISTRATIVE].sort())
  })

  test("answer 401 to every other method, and 405 on the path of a public one", async () => {
    for (const route of routes)
      for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE-ME"]) {
        const [, path] = call(route)
        if (routes.some(known => known.startsWith(`${method} `) && call(known)[1] === path)) continue
        const operations = ["GET", "POST", "DELETE"].map(each => endpointOf(each, path)?.operation)
        const isPublic = operations.some(operation => operation?.security.length === 0)
        const answer = await caller(service()).send(method, path)
        expect([method, path, answer.status]).toEqual([method, path, isPublic ? 405 : 401])
        expectRefused(answer, answer.status)
      }
  })
})
