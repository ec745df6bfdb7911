/** Who is answered what, for every operation of the API description. A new operation needs a row. docs/api.md, "Keys". */
import type { JsonValue } from "@runseal/canonical"
import { asking, done } from "../harness/asked-permits.ts"
import { ADMIN, CUSTOMER } from "../harness/key-holders.ts"
import { enrolment, passkeyOf } from "../harness/people-with-passkeys.ts"
import { request } from "../harness/sample-requests.ts"

/** The caller. In locked mode all the others are `nobody`: the answer does not say why they are refused. */
export type Asker =
  /** Anybody in open mode, whatever header he sends. */
  | "open"
  /** Locked: no key, or one that is malformed, unknown, revoked or replaced by another. */
  | "nobody"
  /** A customer of tier trial whose run it is. */
  | "owner"
  /** Another customer, of tier production. */
  | "other"
  /** An admin key, of whom the published runs are. */
  | "admin"
  /** Another admin key. */
  | "other_admin"
  /** An auditor of all keys. */
  | "auditor"
  /** An auditor of the owner's key alone. */
  | "owners_auditor"
  /** The key of an approver. */
  | "approver_key"
  /** People who signed in with the identity provider. */
  | "person_admin"
  | "person_auditor"
  | "approver"

/** What the requests of a deployment are about. */
export type Subjects = {
  /** An ok run and a denied one, of the owner; of the anonymous caller in open mode. */
  readonly run: number
  readonly denied: number
  /** Runs of the admin key: one that is published, one to publish, one to withdraw. In open mode the run above. */
  readonly published: number
  readonly to_publish: number
  readonly to_withdraw: number
  /** Of the published run; in open mode nobody has one. */
  readonly token: string
  /** A key to revoke. */
  readonly key: number
  /** Permits of the run's owner: one to read, one to close. */
  readonly permit: string
  readonly to_close: string
  /** The ok run's bundle. */
  readonly bundle: JsonValue
}

export type Row = {
  readonly path: (subjects: Subjects) => string
  readonly body?: (subjects: Subjects) => JsonValue
  readonly statuses: Readonly<Record<Asker, number>>
}

type Request = Pick<Row, "path" | "body">
const at = (path: string, body?: JsonValue): Request => ({
  path: () => path,
  ...(body === undefined ? {} : { body: () => body }),
})
const ofRun = (end: string): Request => ({ path: ({ run }) => `/runs/${run}${end}` })

const everybody = (status: number): Row["statuses"] => ({
  open: status,
  nobody: status,
  owner: status,
  other: status,
  admin: status,
  other_admin: status,
  auditor: status,
  owners_auditor: status,
  approver_key: status,
  person_admin: status,
  person_auditor: status,
  approver: status,
})
/** What auditors get where they may nothing. */
const NO_AUDITOR = { auditor: 403, owners_auditor: 403, approver_key: 403, person_auditor: 403, approver: 403 }
/** What people get of what is about runs of one's own: they have none, and neither has the key of an approver. */
const NO_PERSON = { approver_key: 403, person_admin: 403, person_auditor: 403, approver: 403 }
/** Answered to anybody. */
const open = (asked: Request, status = 200): Row => ({ ...asked, statuses: everybody(status) })
/** Answered to every caller with a key, with his own runs. */
const keyed = (asked: Request, status = 200): Row => ({
  ...asked,
  statuses: { ...everybody(status), nobody: 401, ...NO_PERSON },
})
/** The same, and to everybody who signed in. */
const signedIn = (asked: Request): Row => ({ ...asked, statuses: { ...everybody(200), nobody: 401 } })
/** The same, of what makes or does something. */
const acting = (asked: Request, status = 200): Row => ({
  ...asked,
  statuses: { ...everybody(status), nobody: 401, ...NO_AUDITOR, ...NO_PERSON },
})
/** About a run of the owner's: there is none for anybody else, an admin or not. */
const own = (asked: Request, status = 200): Row => ({
  ...asked,
  statuses: { ...everybody(404), open: status, owner: status, nobody: 401, ...NO_PERSON },
})
/** Answered to admin keys; a customer and an auditor are refused whatever they ask for. */
const administrative = (
  asked: Request,
  statuses: Pick<Row["statuses"], "open" | "admin" | "other_admin" | "person_admin">,
): Row => ({
  ...asked,
  statuses: { nobody: 401, owner: 403, other: 403, ...NO_AUDITOR, ...statuses },
})
/** Read by admin keys and auditors, of whatever key they read. */
const read = (asked: Request, status = 200, owners_auditor = status): Row => ({
  ...asked,
  statuses: {
    ...everybody(status),
    nobody: 401,
    owner: 403,
    other: 403,
    owners_auditor,
    approver_key: 403,
    approver: 403,
  },
})
/** The same, of what is about all keys. */
const readOfAll = (asked: Request): Row => read(asked, 200, 403)
/** There is none for anybody. */
const anybodys = (asked: Request): Row => ({ ...asked, statuses: { ...everybody(404), nobody: 401 } })
const UNKNOWN_APPROVAL = `apr-${"0".repeat(32)}`
const anyRun = (end: string): Request => ({ path: ({ run }) => `/admin/runs/${run}${end}` })
/** Answered to admin keys alone: not in open mode either. */
const keyAdministrative = (asked: Request, status = 200, person_admin = status): Row =>
  administrative(asked, { open: 403, admin: status, other_admin: status, person_admin })
const published = (end: string): Row => ({
  path: ({ token }) => `/public/runs/${token}${end}`,
  statuses: { ...everybody(200), open: 404 },
})

/** By `METHOD template`. */
export const MATRIX: Readonly<Record<string, Row>> = {
  "GET /health": open(at("/health")),
  "GET /ready": open(at("/ready")),
  "GET /version": open(at("/version")),
  "GET /openapi.json": open(at("/openapi.json")),
  "GET /docs": open(at("/docs")),
  "GET /docs/{file}": open(at("/docs/swagger-ui.css")),
  "GET /verify": open(at("/verify")),
  "GET /log/checkpoint": open(at("/log/checkpoint")),
  "GET /log/witnessed-checkpoint": open(at("/log/witnessed-checkpoint"), 404),
  "GET /log/genesis": open(at("/log/genesis")),
  "GET /log/key-changes": open(at("/log/key-changes")),
  "GET /log/witnesses": open(at("/log/witnesses")),
  "GET /log/outside": open(at("/log/outside")),
  "GET /log/tile/{level}/{index}": open(at("/log/tile/0/000"), 404),
  "GET /log/tile/{level}/{index}.p/{width}": open(at("/log/tile/0/000.p/1")),
  "GET /log/entry/{index}": open(at("/log/entry/0")),
  "GET /log/consistency": open(at("/log/consistency?first=1&second=1")),
  "GET /": open(at("/")),
  "GET /.well-known/runseal-trust.json": open(at("/.well-known/runseal-trust.json")),
  "GET /.well-known/trusted-root.json": open(at("/.well-known/trusted-root.json")),
  "GET /.well-known/service.pub": open(at("/.well-known/service.pub")),
  "GET /.well-known/jwks.json": open(at("/.well-known/jwks.json")),
  // The permit is the credential: a key makes no difference.
  "POST /permits/{id}/redeem": open(at(`/permits/pmt-${"0".repeat(32)}/redeem`, { permit: "x" }), 404),
  "GET /runs/{id}/bundle.json": open({ path: run => `/runs/${run.published}/bundle.json` }, 404),
  "GET /public/runs/{token}/bundle.json": published("/bundle.json"),
  "GET /public/runs/{token}/statement.intoto.json": published("/statement.intoto.json"),
  "GET /public/runs/{token}": published(""),
  // Nothing was shared under it: the token is the credential, and a key makes no difference.
  "GET /shared/{token}/bundle.json": open(at(`/shared/${"0".repeat(32)}/bundle.json`), 404),
  "GET /shared/{token}/report.pdf": open(at(`/shared/${"0".repeat(32)}/report.pdf`), 404),
  "GET /shared/{token}": open(at(`/shared/${"0".repeat(32)}`), 404),

  // A visitor without a session is sent to the page that signs in, but in open mode; a form that names no site is refused.
  // An approver is led to the one page that it sees.
  "GET /console": {
    ...at("/console"),
    statuses: { ...everybody(303), open: 200, person_admin: 200, person_auditor: 200 },
  },
  "GET /console/{page}": open(at("/console/sign-in")),
  "POST /console/{page}": open(at("/console/sign-out"), 403),
  "POST /execute": acting(at("/execute", request())),
  "POST /execute/verify-determinism": acting(at("/execute/verify-determinism", request())),
  "POST /permits": acting(at("/permits", asking()), 201),
  "GET /permits": keyed(at("/permits")),
  "GET /permits/{id}": own({ path: ({ permit }) => `/permits/${permit}` }),
  "POST /permits/{id}/close": {
    path: ({ to_close }) => `/permits/${to_close}/close`,
    body: () => done(),
    statuses: { ...everybody(404), open: 200, owner: 200, nobody: 401, ...NO_AUDITOR, ...NO_PERSON },
  },
  // A person and the key of an approver see what their groups may decide; who decides what: approval-decisions.test.ts.
  "GET /approvals": signedIn(at("/approvals")),
  "GET /approvals/{id}": anybodys(at(`/approvals/${UNKNOWN_APPROVAL}`)),
  "POST /approvals/{id}/decision": anybodys(
    at(`/approvals/${UNKNOWN_APPROVAL}/decision`, { request_digest: "0".repeat(64), decision: "approve" }),
  ),
  "POST /approvals/{id}/permit": acting(at(`/approvals/${UNKNOWN_APPROVAL}/permit`), 404),
  "DELETE /approvals/{id}": acting(at(`/approvals/${UNKNOWN_APPROVAL}`), 404),
  // Who decides nothing and administers nothing has no comments to delete.
  "DELETE /approvals/{id}/comments": {
    ...at(`/approvals/${UNKNOWN_APPROVAL}/comments`),
    statuses: {
      ...everybody(404),
      open: 403,
      nobody: 401,
      owner: 403,
      other: 403,
      auditor: 403,
      owners_auditor: 403,
    },
  },
  // Keys of customers and approvers have no passkeys, and people see their own: passkeys.test.ts.
  "GET /passkeys": {
    ...at("/passkeys"),
    statuses: { ...everybody(200), nobody: 401, owner: 403, other: 403, owners_auditor: 403, approver_key: 403 },
  },
  // People alone enrol and confirm; a passkey of another service is refused to them too.
  "POST /passkeys": {
    ...at("/passkeys", enrolment(passkeyOf("nobody", "https://login.example"))),
    statuses: { ...everybody(403), nobody: 401 },
  },
  "POST /passkeys/{id}/confirmation": {
    ...at(`/passkeys/${"0".repeat(64)}/confirmation`),
    statuses: { ...everybody(403), nobody: 401, person_admin: 404 },
  },
  "DELETE /passkeys/{id}": {
    ...at(`/passkeys/${"0".repeat(64)}`),
    statuses: {
      ...everybody(404),
      open: 403,
      nobody: 401,
      owner: 403,
      other: 403,
      auditor: 403,
      owners_auditor: 403,
      approver_key: 403,
    },
  },
  // The key is in the body, and a header makes no difference.
  "POST /session": open(at("/session", {}), 400),
  // Where there is a provider; there is none in open mode.
  "POST /session/sign-in": {
    ...at("/session/sign-in", {}),
    statuses: { ...everybody(201), open: 403 },
  },
  // No sign-in was started in this browser.
  "POST /session/sign-in/answer": open(at("/session/sign-in/answer", { query: "code=x&state=y" }), 403),
  "GET /session": signedIn(at("/session")),
  "DELETE /session": signedIn(at("/session")),
  "POST /v1/traces": acting(at("/v1/traces", { resourceSpans: [] })),
  "POST /hooks/claude-code": acting(at("/hooks/claude-code", { hook_event_name: "SessionEnd" })),
  "POST /dcae/verify": keyed({ path: () => "/dcae/verify", body: ({ bundle }) => bundle }),
  "POST /attest": acting(at("/attest", { digest: "c3".repeat(32), algorithm: "sha256", subject_ref: "x" }), 201),
  "GET /attestations": keyed(at("/attestations")),
  "GET /runs": keyed(at("/runs")),
  "GET /runs/search": keyed(at("/runs/search?status=ok")),
  "GET /runs/export": keyed(at("/runs/export")),
  "GET /runs/{id}": own(ofRun("")),
  "GET /runs/{id}/verify": own(ofRun("/verify")),
  "GET /runs/{id}/artifacts": own(ofRun("/artifacts")),
  "GET /runs/{id}/auditor.zip": own(ofRun("/auditor.zip")),
  "GET /runs/{id}/report.pdf": own(ofRun("/report.pdf?format=brief")),
  "GET /runs/{id}/statement.intoto.json": own(ofRun("/statement.intoto.json")),
  "GET /runs/{id}/allow-token": own(ofRun("/allow-token")),
  "GET /runs/{id}/deny-receipt": own({ path: ({ denied }) => `/runs/${denied}/deny-receipt` }),
  "GET /runs/{id}/ccv-halt-receipt": own(ofRun("/ccv-halt-receipt"), 404),
  "GET /runs/{id}/macc-halt-receipt": own(ofRun("/macc-halt-receipt"), 404),
  "GET /runs/{id}/aivp-t4-halt-receipt": own(ofRun("/aivp-t4-halt-receipt"), 404),
  "GET /runs/{id}/attestation-gap-receipt": own(ofRun("/attestation-gap-receipt"), 404),

  "GET /admin/keys": administrative(at("/admin/keys"), { open: 200, admin: 200, other_admin: 200, person_admin: 200 }),
  "PATCH /admin/keys/{id}": administrative(
    { path: ({ key }) => `/admin/keys/${key}`, body: () => ({ notes: "x" }) },
    { open: 403, admin: 200, other_admin: 200, person_admin: 200 },
  ),
  "POST /admin/keys/{id}/rotate": administrative(
    { path: ({ key }) => `/admin/keys/${key}/rotate`, body: () => ({}) },
    { open: 403, admin: 200, other_admin: 200, person_admin: 200 },
  ),
  "DELETE /admin/keys/{id}": administrative(
    { path: ({ key }) => `/admin/keys/${key}` },
    { open: 404, admin: 200, other_admin: 200, person_admin: 200 },
  ),
  "GET /admin/runs": read(at("/admin/runs")),
  // Of open mode, whose runs the owner's auditor does not read.
  "GET /admin/runs/export": read(at("/admin/runs/export?key=0"), 200, 404),
  "GET /admin/runs/{id}": read(anyRun("")),
  "GET /admin/runs/{id}/verify": read(anyRun("/verify")),
  "GET /admin/runs/{id}/artifacts": read(anyRun("/artifacts")),
  "GET /admin/runs/{id}/auditor.zip": read(anyRun("/auditor.zip")),
  "GET /admin/runs/{id}/report.pdf": read(anyRun("/report.pdf?format=brief")),
  "GET /admin/runs/{id}/statement.intoto.json": read(anyRun("/statement.intoto.json")),
  "GET /admin/runs/{id}/allow-token": read(anyRun("/allow-token")),
  "GET /admin/runs/{id}/deny-receipt": read({ path: ({ denied }) => `/admin/runs/${denied}/deny-receipt` }),
  "GET /admin/runs/{id}/ccv-halt-receipt": read(anyRun("/ccv-halt-receipt"), 404),
  "GET /admin/runs/{id}/macc-halt-receipt": read(anyRun("/macc-halt-receipt"), 404),
  "GET /admin/runs/{id}/aivp-t4-halt-receipt": read(anyRun("/aivp-t4-halt-receipt"), 404),
  "GET /admin/runs/{id}/attestation-gap-receipt": read(anyRun("/attestation-gap-receipt"), 404),
  "GET /admin/permits": read(at("/admin/permits")),
  "GET /admin/permits/{id}": read({ path: ({ permit }) => `/admin/permits/${permit}` }),
  "GET /admin/published": read(at("/admin/published")),
  "GET /admin/usage": read(at("/admin/usage")),
  "GET /admin/overview": read(at("/admin/overview")),
  // Each sees what it reads; who sees what: attention.test.ts.
  "GET /attention": signedIn(at("/attention")),
  "GET /admin/policy": read(at("/admin/policy")),
  "GET /admin/audit": readOfAll(at("/admin/audit")),
  "GET /admin/audit/export": readOfAll(at("/admin/audit/export")),
  // In open mode nobody has administered yet.
  "GET /admin/audit/{ordinal}": {
    path: () => "/admin/audit/1",
    statuses: { ...readOfAll(at("")).statuses, open: 404 },
  },
  "GET /admin/policies": readOfAll(at("/admin/policies")),
  "GET /admin/policies/{version}": readOfAll(at("/admin/policies/1")),
  "POST /admin/policies/dry-run": administrative(at("/admin/policies/dry-run", { policy: {} }), {
    open: 400,
    admin: 400,
    other_admin: 400,
    person_admin: 400,
  }),
  "POST /admin/policies": administrative(at("/admin/policies", { policy: {} }), {
    open: 403,
    admin: 400,
    other_admin: 400,
    person_admin: 400,
  }),
  // This and the next two last as long as a key does, and a person has none.
  "POST /admin/runs/claim": administrative(at("/admin/runs/claim", { key_id: 999_999 }), {
    open: 403,
    admin: 404,
    other_admin: 404,
    person_admin: 403,
  }),
  "POST /admin/runs/{id}/publish": administrative(
    { path: run => `/admin/runs/${run.to_publish}/publish` },
    { open: 403, admin: 200, other_admin: 404, person_admin: 403 },
  ),
  "POST /admin/runs/{id}/unpublish": administrative(
    { path: run => `/admin/runs/${run.to_withdraw}/unpublish` },
    { open: 403, admin: 200, other_admin: 200, person_admin: 200 },
  ),
  // An auditor shares once its key may: shares.test.ts.
  "POST /admin/runs/{id}/share": keyAdministrative(
    { path: ({ run }) => `/admin/runs/${run}/share`, body: () => ({}) },
    201,
    403,
  ),
  "GET /admin/shares": read(at("/admin/shares")),
  "DELETE /admin/shares/{id}": keyAdministrative(at("/admin/shares/999"), 404),
  "GET /admin/events": readOfAll(at("/admin/events")),
  "GET /admin/deliveries": readOfAll(at("/admin/deliveries")),
  "GET /admin/destinations": keyAdministrative(at("/admin/destinations")),
  "POST /admin/destinations": keyAdministrative(at("/admin/destinations", { url: "https://events.example/" }), 201),
  "PATCH /admin/destinations/{id}": keyAdministrative(at("/admin/destinations/999", { active: false }), 404),
  "DELETE /admin/destinations/{id}": keyAdministrative(at("/admin/destinations/999"), 404),
  "POST /admin/destinations/{id}/rotate": keyAdministrative(at("/admin/destinations/999/rotate", {}), 404),
  "POST /admin/destinations/{id}/test": keyAdministrative(at("/admin/destinations/999/test", {}), 404),
  "POST /admin/destinations/{id}/resume": keyAdministrative(at("/admin/destinations/999/resume", { from: 0 }), 404),
  // Last: in open mode it makes the first key, and the deployment is locked.
  "POST /admin/keys": administrative(at("/admin/keys", { ...ADMIN, ...CUSTOMER }), {
    open: 201,
    admin: 201,
    other_admin: 201,
    person_admin: 201,
  }),
}
