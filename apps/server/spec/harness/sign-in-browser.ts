/** A browser without pages: it holds cookies by host, and goes where it is sent, between a service and its identity provider. */
import type { JsonValue } from "@runseal/canonical"
import type { PersonRole } from "@runseal/core/wire/session-requests"
import type { ClientMetadata } from "oidc-provider"
import { afterAll, beforeAll, expect } from "vitest"
import { freePort } from "../../../../libs/core/test/fixtures/free-port.ts"
import type { Config } from "../../src/options/config.ts"
import type { Holder } from "./key-holders.ts"
import { type OpenIdProvider, startOpenIdProvider } from "./openid-provider.ts"
import { type Answer, readAnswer } from "./read-answer.ts"
import type { TestService } from "./test-service.ts"

/** Where tests reach the service. */
export const CONSOLE_ORIGIN = "http://localhost"

export type Gone = { readonly url: URL; readonly status: number; readonly text: string }

export type SignInBrowser = {
  /** Cookies of the service, by name. */
  readonly cookies: Map<string, string>
  /** One step: where an address leads, without following it. */
  readonly step: (
    address: string | URL,
    form?: Readonly<Record<string, string>>,
  ) => Promise<Gone & { readonly location: URL | undefined; readonly headers: Headers }>
  /** Follows redirects to the end. @param until stops before this path of the service is asked for */
  readonly go: (address: string | URL, until?: string) => Promise<Gone>
  /** Signs in as an account of the provider, up to the page of the console. */
  readonly signInAs: (subject: string, next?: string) => Promise<Gone>
  /** Stops before the provider's answer reaches the service. @returns that answer's address */
  readonly answerFor: (subject: string) => Promise<URL>
  /** A request to the API with the session. */
  readonly send: (method: string, path: string, body?: JsonValue) => Promise<Answer>
}

export const CALLBACK = "/console/callback"

export const CLIENT = { id: "runseal-console", secret: "the secret of the console, of a test" } as const

/** The console at a provider. @param origin of the service */
const consoleClient = (origin: string): ClientMetadata => ({
  client_id: CLIENT.id,
  client_secret: CLIENT.secret,
  redirect_uris: [`${origin}${CALLBACK}`],
  application_type: "native",
  id_token_signed_response_alg: "ES256",
})

type GroupsOf = (account: string) => readonly string[]

/**
 * A real provider for all tests of a suite, which knows the console.
 * @param groupsOf the groups of a person, asked at each sign-in; @param origin of the service, asked when the suite begins
 */
export function standingProvider(
  groupsOf: GroupsOf,
  origin: () => string | Promise<string> = () => CONSOLE_ORIGIN,
): () => OpenIdProvider {
  let provider: OpenIdProvider | undefined
  beforeAll(async () => {
    provider = await startOpenIdProvider(groupsOf, [consoleClient(await origin())])
  })
  afterAll(() => provider?.close())
  return () => {
    if (provider === undefined) throw new Error("the provider runs during tests only")
    return provider
  }
}

/** The same where real browsers sign in: the service has a port. For a browser, the provider at 127.0.0.1 is another site. */
export function standingSite(groupsOf: GroupsOf): {
  readonly provider: () => OpenIdProvider
  readonly port: () => number
  /** Of the service. */
  readonly origin: () => string
} {
  let port = 0
  const origin = (): string => `http://localhost:${port}`
  const provider = standingProvider(groupsOf, async () => {
    port = await freePort()
    return origin()
  })
  return { provider, port: () => port, origin }
}

/** The options with which people sign in at a service of this origin. */
export const signInConfig = (
  issuer: string,
  roles: ReadonlyMap<string, PersonRole>,
  origin: string = CONSOLE_ORIGIN,
): Pick<Config, "baseUrl" | "signIn"> => ({
  baseUrl: origin,
  signIn: {
    provider: { issuer, personClaim: "sub", groupClaim: "groups" },
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    roles,
    scopes: "profile",
    redirectUri: `${origin}${CALLBACK}`,
  },
})

export function signInBrowser(
  service: () => TestService,
  headers: Readonly<Record<string, string>> = {},
): SignInBrowser {
  const jars = new Map<string, Map<string, string>>()
  const jarOf = ({ host }: URL): Map<string, string> => {
    const jar = jars.get(host) ?? new Map<string, string>()
    jars.set(host, jar)
    return jar
  }
  const cookies = jarOf(new URL(CONSOLE_ORIGIN))
  const cookieHeader = (jar: ReadonlyMap<string, string>): Readonly<Record<string, string>> =>
    jar.size === 0 ? {} : { Cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") }
  const keep = (jar: Map<string, string>, response: Response): void => {
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line) || value === "") jar.delete(name)
      else jar.set(name, value)
    }
  }
  const step: SignInBrowser["step"] = async (address, form) => {
    const url = new URL(address, CONSOLE_ORIGIN)
    const jar = jarOf(url)
    const init: RequestInit = {
      redirect: "manual",
      headers: { ...headers, ...cookieHeader(jar) },
      ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) }),
    }
    const response = await (url.origin === CONSOLE_ORIGIN
      ? service().request(`${url.pathname}${url.search}`, init)
      : fetch(url, init))
    keep(jar, response)
    const location = response.headers.get("location")
    return {
      url,
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      location: location === null ? undefined : new URL(location, url),
    }
  }
  const go: SignInBrowser["go"] = async (address, until) => {
    let to = new URL(address, CONSOLE_ORIGIN)
    for (let steps = 0; steps < 12; steps++) {
      if (to.pathname === until) return { url: to, status: 0, text: "" }
      const { location, ...gone } = await step(to)
      if (location === undefined) return gone
      to = location
    }
    throw new Error("the redirects have no end")
  }
  /** Answers the pages of the provider. @param subject "": nobody, who says no */
  const enterAs = async (subject: string, next: string, until?: string): Promise<Gone> => {
    let place = await go(`/console/sign-in/provider?next=${encodeURIComponent(next)}`, until)
    if (subject === "") return go(`${place.url}/abort`, until)
    const forms = [{ prompt: "login", login: subject, password: "any" }, { prompt: "consent" }]
    // A provider that knows this browser asks for no name.
    while (place.url.pathname.startsWith("/interaction/")) {
      const form = /name="prompt" value="consent"/.test(place.text) ? forms[1] : forms[0]
      const { location } = await step(place.url, form)
      if (location === undefined) throw new Error("the provider leads nowhere")
      place = await go(location, until)
    }
    return place
  }
  return {
    cookies,
    step,
    go,
    signInAs: (subject, next = "/console") => enterAs(subject, next),
    answerFor: async subject => {
      const { url } = await enterAs(subject, "/console", CALLBACK)
      expect(url.pathname).toBe(CALLBACK)
      return url
    },
    send: async (method, path, body) => {
      const shown = cookies.has("runseal-session")
        ? await service().request("/session", { headers: cookieHeader(cookies) })
        : undefined
      const session: unknown = await shown?.json()
      const csrf =
        typeof session === "object" && session !== null && "csrf_token" in session ? `${session.csrf_token}` : ""
      const response = await service().request(path, {
        method,
        headers: {
          ...cookieHeader(cookies),
          ...(csrf === "" ? {} : { "X-CSRF-Token": csrf }),
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      keep(cookies, response)
      if (method === "HEAD") return { status: response.status, headers: response.headers, text: "", body: {} }
      return readAnswer(response)
    },
  }
}

/** A person as the holder of its session. */
export function personHolder(browser: SignInBrowser, name: string): Holder {
  const { send } = browser
  return {
    id: 0,
    name,
    send,
    get: path => send("GET", path),
    post: (path, body) => send("POST", path, body),
    execute: body => send("POST", "/execute", body),
  }
}
