/** What a service does with its identity provider: when it starts, when end users are required, and with a real provider. docs/identity.md. */
import type { JsonObject } from "@runseal/canonical"
import { END_USER_HEADER } from "@runseal/core/wire/end-user-token"
import { afterEach, describe, expect, test } from "vitest"
import { AFTER_FAILURE_MS } from "../../src/outbound/identity/identity-provider.ts"
import { asking, closed } from "../harness/asked-permits.ts"
import {
  AUDIENCE,
  DISCOVERY,
  FAULTS,
  type HostileProvider,
  providerKey,
  startProvider,
  tokenBy,
  trusting,
} from "../harness/hostile-provider.ts"
import { ADMIN } from "../harness/key-holders.ts"
import { startOpenIdProvider } from "../harness/openid-provider.ts"
import { type Answer, at, expectRefused, listAt, numberAt, objectAt, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { openService, type Settings, type TestService } from "../harness/test-service.ts"

const KEY = providerKey("ES256")
const cleanUp: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close()
})

async function provided(): Promise<HostileProvider> {
  const provider = await startProvider()
  cleanUp.push(provider.close)
  provider.keys.push(KEY)
  return provider
}
async function served(settings: Settings): Promise<TestService> {
  const service = await openService(settings)
  cleanUp.push(service.close)
  return service
}
const tokenFor = ({ issuer }: HostileProvider, { clock }: TestService, claims: object = {}): string => {
  const iat = Math.floor(clock.nowMs() / 1000)
  const all = { iss: issuer, aud: AUDIENCE, sub: "grace", iat, exp: iat + 300, ...claims }
  return tokenBy(KEY, all, { typ: "at+jwt" })
}
const send = (
  service: TestService,
  path: string,
  body: object,
  token?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> =>
  service.postRaw(path, JSON.stringify(body), {
    "Content-Type": "application/json",
    ...(token === undefined ? {} : { [END_USER_HEADER]: token }),
    ...headers,
  })
async function endUserOf(service: TestService, answer: Answer): Promise<JsonObject> {
  expect(answer.status, answer.text).toBe(200)
  const bundle = await service.get(`/runs/${numberAt(answer.body, "run_id")}/artifacts`)
  return objectAt(bundle.body, "sections", "end_user")
}

describe("a start", () => {
  test.each<[string, JsonObject, string]>([
    ["another issuer", { issuer: "https://other.example" }, "has another issuer"],
    ["pairwise subjects only", { subject_types_supported: ["pairwise"] }, "name the claim that is the person"],
    ["keys over plain http elsewhere", { jwks_uri: "http://keys.example/" }, "names no https address of its keys"],
    ["no keys", { jwks_uri: null }, "names no https address of its keys"],
  ])("with a provider that has %s is refused with one sentence", async (_, discovery, why) => {
    const provider = await provided()
    provider.discovery = given => ({ ...given, ...discovery })
    await expect(openService({ config: trusting(provider.issuer) })).rejects.toThrow(
      new RegExp(`^--issuer: the identity provider .*${why}`),
    )
  })

  test("with an address that has no provider is refused too", async () => {
    const provider = await provided()
    await expect(openService({ config: trusting(`${provider.issuer}/elsewhere`) })).rejects.toThrow("answered 404")
  })

  test("with pairwise subjects is not, where another claim is the person", async () => {
    const provider = await provided()
    provider.discovery = given => ({ ...given, subject_types_supported: ["pairwise"] })
    const service = await served({ config: trusting(provider.issuer, "--person-claim", "oid") })
    const token = tokenFor(provider, service, { sub: "of-this-app", oid: "person-7" })
    expect(await endUserOf(service, await send(service, "/execute", request(), token))).toMatchObject({
      subject: "person-7",
    })
  })

  test("while the provider is away is not: tokens are 503 until it is back", async () => {
    const provider = await provided()
    provider.answers.set(DISCOVERY, FAULTS.away)
    const service = await served({ config: trusting(provider.issuer) })
    const token = tokenFor(provider, service)
    expectRefused(await send(service, "/execute", request(), token), 503, "end_user_unavailable")
    expect((await service.execute(request())).status).toBe(200)
    provider.reset()
    service.clock.advance(AFTER_FAILURE_MS)
    expect((await send(service, "/execute", request(), token)).status).toBe(200)
  })
})

test("a service without an audience refuses a token that nobody would verify", async () => {
  const service = await served({})
  expect(expectRefused(await send(service, "/execute", request(), "a.b.c"), 401, "end_user_token_invalid")).toContain(
    "--end-user-audience",
  )
})

test("a token counts for nothing without the key of the service", async () => {
  const provider = await provided()
  const service = await served({ config: trusting(provider.issuer) })
  const secret = textAt((await service.post("/admin/keys", ADMIN)).body, "secret")
  const token = tokenFor(provider, service)
  expectRefused(await send(service, "/execute", request(), token), 401, "key_required")
  expectRefused(
    await send(service, "/execute", request(), "none", { "X-Service-Key": secret }),
    401,
    "end_user_token_invalid",
  )
  expect((await send(service, "/execute", request(), token, { "X-Service-Key": secret })).status).toBe(200)
})

describe("with --end-user required", () => {
  const call = { session_id: "s", transcript_path: "t", cwd: "c", tool_name: "Bash", tool_input: { command: "ls" } }
  const before = { ...call, hook_event_name: "PreToolUse", tool_use_id: "toolu_1" }
  const after = { ...before, hook_event_name: "PostToolUse", tool_response: {} }
  const span = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    name: "chat",
    startTimeUnixNano: "1777896000000000000",
    endTimeUnixNano: "1777896001000000000",
    attributes: [
      { key: "gen_ai.operation.name", value: { stringValue: "chat" } },
      { key: "gen_ai.request.model", value: { stringValue: "m" } },
    ],
  }
  const traces = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }

  test("what is decided needs a token, and what is reported needs none", async () => {
    const provider = await provided()
    const service = await served({ config: trusting(provider.issuer, "--end-user", "required") })
    for (const [path, body] of [
      ["/execute", request()],
      ["/execute/verify-determinism", request()],
      ["/permits", asking()],
      ["/hooks/claude-code?mode=observe", before],
    ] as const)
      expect(expectRefused(await send(service, path, body), 401, "end_user_required"), path).toContain(END_USER_HEADER)
    const denied = await send(service, "/hooks/claude-code?fail=open", before)
    expect({ status: denied.status, text: denied.text }).toEqual({
      status: 200,
      text: expect.stringContaining('"deny"'),
    })
    const token = tokenFor(provider, service)
    expect((await send(service, "/execute/verify-determinism", request(), token)).body).toMatchObject({
      deterministic: true,
    })
    const opened = await send(service, "/permits", asking(), token)
    await closed(service, textAt(opened.body, "permit_id"))
    expect((await send(service, "/hooks/claude-code", before, token)).status).toBe(200)
    expect((await send(service, "/hooks/claude-code", after)).body).toEqual({})
    const [permit] = listAt((await service.get("/permits")).body, "permits")
    expect([at(permit, "state"), at(permit, "closing_outcome")], "the hook's close is sealed").toEqual([
      "closed",
      "completed",
    ])
    const hooked = await service.get(`/runs/${at(permit, "run_id")}/artifacts`)
    expect(objectAt(hooked.body, "sections", "end_user")).toMatchObject({ subject: "grace" })
    const runs = async (): Promise<number> => numberAt((await service.get("/runs")).body, "total")
    const sealed = await runs()
    expect((await send(service, "/v1/traces", traces)).body).toEqual({})
    expect(await runs(), "the span is a run").toBe(sealed + 1)
  })
})

describe("groups of a token", () => {
  const policy = {
    policy_id: "groups",
    policy_name: "Groups",
    required_attested_fields: [],
    rules: [
      {
        id: "treasury",
        effect: "allow",
        when: 'context.bound.route_id == "payments/approve" && context.verified has end_user && context.verified.end_user.groups.contains("treasury")',
      },
    ],
  }
  test("decide by the policy, and those that it does not name are in no record", async () => {
    const provider = await provided()
    const service = await served({ config: trusting(provider.issuer), policy })
    const answered = (claims: object) => send(service, "/execute", request(), tokenFor(provider, service, claims))
    const allowed = await answered({ groups: ["treasury", "secret-project"] })
    expect((await endUserOf(service, allowed)).groups).toEqual(["treasury"])
    expect((await answered({ groups: ["secret-project"] })).status).toBe(422)
    // As a list of it, which some providers write so.
    expect((await answered({ groups: "treasury" })).status).toBe(200)
    for (const claims of [
      {},
      { groups: null },
      { groups: ["treasury"], _claim_names: { groups: "src1" } },
      { groups: ["treasury"], hasgroups: true },
      { groups: ["treasury", ...Array.from({ length: 64 }, (_, index) => `g-${index}`)] },
      { groups: [{ name: "treasury" }] },
    ]) {
      const answer = await answered(claims)
      expect({ status: answer.status, reason: at(answer.body, "explanation", "reason") }).toEqual({
        status: 422,
        reason: "END_USER_UNREADABLE",
      })
    }
  })
})

test("with a real provider: a person signs in, the token is sealed, the ID token is refused", async () => {
  const provider = await startOpenIdProvider(() => ["treasury"])
  cleanUp.push(provider.close)
  const clock = { nowMs: Date.now, advance: () => undefined }
  const service = await served({ config: trusting(provider.issuer), clock })
  const { access_token, id_token } = await provider.signIn("grace")
  const answer = await send(service, "/execute", request(), access_token)
  expect(await endUserOf(service, answer)).toMatchObject({
    issuer: provider.issuer,
    subject: "grace",
    audience: AUDIENCE,
    client: "chat-app",
  })
  expectRefused(await send(service, "/execute", request(), id_token), 401, "end_user_token_invalid")
  for (const piece of access_token.split(".")) expect(service.logLines.join("\n")).not.toContain(piece)
})
