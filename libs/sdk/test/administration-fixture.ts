/** Keys, publications and attestations of the fixture service. */
import { createHash } from "node:crypto"
import type { JsonObject } from "@runseal/canonical"
import { parseStrictJson } from "@runseal/canonical"
import { type AttestationAnswer, listedAttestation } from "@runseal/core/artifacts/attestation-answer"
import { textMember } from "@runseal/core/vocabulary/json-members"
import type { ListedKey } from "@runseal/core/wire/key-requests"
import { attest, type Deployment, type SealedRun } from "../../core/test/fixtures/deployment.ts"
import type { Answer, Asked } from "./scripted-service.ts"
import { STATEMENT_FILE, statementAnswer } from "./statement-fixture.ts"

const done = (body: JsonObject, status = 200): Answer => ({ status, body: { ok: true, ...body } })
const missing = (error: string): Answer => ({ status: 404, body: { ok: false, error } })
const hexOf = (text: string): string => createHash("sha256").update(text).digest("hex")

export type AdministrationFixture = {
  /** Undefined for what is no endpoint of these. */
  readonly answer: (asked: Asked) => Answer | undefined
  /** The same for who has no key. */
  readonly publicAnswer: (path: string) => Answer | undefined
}

export function administrationFixture(deployment: Deployment, runs: readonly SealedRun[]): AdministrationFixture {
  const attestations: AttestationAnswer[] = []
  const keys: ListedKey[] = []
  const tokens = new Map<number, string>()
  /** Idempotency keys under which a key was made. */
  const usedUp = new Set<string>()

  const attested = (body: string): Answer => {
    const digest = textMember(parseStrictJson(body), "digest") ?? ""
    const subject_ref = textMember(parseStrictJson(body), "subject_ref")
    if (!/^[0-9a-f]{64}$/.test(digest)) return { status: 400, body: { ok: false, error: "digest: is required." } }
    const document = attest(deployment, { digest, ...(subject_ref !== undefined && { subject_ref }) })
    attestations.push(document)
    return { status: 201, body: document }
  }
  const listed = (query: URLSearchParams): Answer => {
    const [limit, offset] = [Number(query.get("limit") ?? 50), Number(query.get("offset") ?? 0)]
    const found = attestations.map(listedAttestation).reverse()
    return done({ total: found.length, limit, offset, attestations: found.slice(offset, offset + limit) })
  }
  const minted = (body: string, once: string | undefined): Answer => {
    if (once !== undefined && usedUp.has(once))
      return { status: 409, body: { ok: false, error: "This was done before.", code: "already_done", request_id: "r" } }
    if (once !== undefined) usedUp.add(once)
    const asked = parseStrictJson(body)
    const admin = textMember(asked, "scope") === "admin"
    const id = keys.length + 1
    const name = `${admin ? "" : "customer:"}${textMember(asked, "name") ?? ""}`
    const tier = admin ? "production" : "trial"
    const created_at = "2026-01-15T13:00:00.000Z"
    const unused = { created_at, last_used_at: null, run_count: 0, revoked: false }
    keys.push({ id, name, scope: admin ? "admin" : "customer", tier, ...unused })
    return done({ id, name, secret: `rsk_${hexOf(name).slice(0, 48)}`, tier, hint: "Keep the secret." }, 201)
  }
  const revoked = (id: number): Answer => {
    const key = keys[id - 1]
    if (key === undefined) return missing("There is no such key.")
    keys[id - 1] = { ...key, revoked: true }
    return done({ id, revoked: true })
  }
  const published = (run_id: number, action: string): Answer => {
    if (runs[run_id - 1] === undefined) return missing("There is no such run.")
    if (action === "unpublish") {
      tokens.delete(run_id)
      return done({ run_id, published: false })
    }
    const token = tokens.get(run_id) ?? hexOf(`token ${run_id}`).slice(0, 32)
    tokens.set(run_id, token)
    return done({ run_id, token, url: `https://runs.example.com/public/runs/${token}/bundle.json` })
  }

  return {
    answer: ({ method, path, body, headers }) => {
      const [name = "", query = ""] = path.split("?")
      const [, run = "", action = ""] = /^\/admin\/runs\/(\d+)\/(publish|unpublish)$/.exec(name) ?? []
      const [, key = ""] = /^\/admin\/keys\/(\d+)$/.exec(name) ?? []
      if (method === "POST" && name === "/attest") return attested(body)
      if (method === "GET" && name === "/attestations") return listed(new URLSearchParams(query))
      if (method === "POST" && name === "/admin/keys") return minted(body, headers["idempotency-key"]?.toString())
      if (method === "GET" && name === "/admin/keys") return done({ keys })
      if (method === "DELETE" && key !== "") return revoked(Number(key))
      if (method === "POST" && action !== "") return published(Number(run), action)
      return undefined
    },
    publicAnswer: path => {
      const [, token = "", file = ""] =
        /^\/public\/runs\/([0-9a-f]{32})\/(bundle\.json|statement\.intoto\.json)$/.exec(path) ?? []
      if (token === "") return undefined
      const [run] = [...tokens].find(([, known]) => known === token) ?? []
      const bundle = run === undefined ? undefined : runs[run - 1]?.bundle
      if (bundle === undefined) return missing("There is no such published run.")
      if (file === STATEMENT_FILE) return statementAnswer(deployment, bundle)
      return { status: 200, body: null, text: JSON.stringify(bundle) }
    },
  }
}
