/** An OpenID provider of the tests' own: it publishes what a test wants, signs what a test wants, and counts what it is asked. */
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto"
import { once } from "node:events"
import { createServer, type RequestListener, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { JsonObject } from "@runseal/canonical"
import { type Config, readConfig } from "../../src/options/config.ts"

export const AUDIENCE = "https://agents.example"

export type ProviderKey = {
  readonly alg: "RS256" | "PS256" | "ES256" | "EdDSA"
  readonly kid: string
  readonly privateKey: KeyObject
  readonly jwk: JsonObject
}

/** @param bits of an RSA modulus */
export function providerKey(alg: ProviderKey["alg"], bits = 2048): ProviderKey {
  const pair =
    alg === "ES256"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : alg === "EdDSA"
        ? generateKeyPairSync("ed25519")
        : generateKeyPairSync("rsa", { modulusLength: bits })
  const kid = randomUUID()
  const jwk = { ...plain(pair.publicKey.export({ format: "jwk" })), kid, alg, use: "sig" }
  return { alg, kid, privateKey: pair.privateKey, jwk }
}
const plain = (value: object): JsonObject => JSON.parse(JSON.stringify(value))

const part = (value: object | Uint8Array): string =>
  Buffer.from(value instanceof Uint8Array ? value : JSON.stringify(value)).toString("base64url")

/** A token in compact form. @param signed gives the signature of the two parts */
export function compact(header: object, claims: object, signed: (input: Buffer) => Uint8Array): string {
  const input = `${part(header)}.${part(claims)}`
  return `${input}.${part(signed(Buffer.from(input)))}`
}

/** The same, signed by a key that the header names. @param header more of it, or in place of its own */
export const tokenBy = (key: ProviderKey, claims: object, header: object = {}): string =>
  compact({ alg: key.alg, kid: key.kid, ...header }, claims, signedBy(key))

const PSS = { padding: 6, saltLength: 32 }
const signedBy =
  ({ alg, privateKey }: ProviderKey) =>
  (input: Buffer): Uint8Array => {
    if (alg === "EdDSA") return sign(null, input, privateKey)
    if (alg === "ES256") return sign("sha256", input, { key: privateKey, dsaEncoding: "ieee-p1363" })
    return sign("sha256", input, alg === "PS256" ? { key: privateKey, ...PSS } : privateKey)
  }

/** What a provider does with a request instead of answering; "away": it answers nothing at all. */
export const FAULTS = {
  redirect: (_, response) => void response.writeHead(302, { location: ELSEWHERE }).end(),
  slow: (_, response) => void response.writeHead(200, { "content-type": "application/json" }).write("{"),
  large: (_, response) => answer(response, { more: "k".repeat(65_536) }),
  unavailable: (_, response) => void response.writeHead(503).end(),
  "no keys": (_, response) => answer(response, { keys: "none" }),
  away: request => void request.destroy(),
} satisfies Readonly<Record<string, RequestListener>>
export type ProviderFault = keyof typeof FAULTS

/** Where a redirect leads. */
export const ELSEWHERE = "/elsewhere"
/** Path of the discovery document. */
export const DISCOVERY = "/.well-known/openid-configuration"

export type Members = Readonly<Record<string, unknown>>

export type HostileProvider = {
  readonly issuer: string
  /** The keys that it publishes; a test changes them. */
  readonly keys: ProviderKey[]
  /** Changes the discovery document. */
  discovery: (given: Members) => object
  /** The ID token that it gives for the code of a sign-in. */
  idToken: () => string
  /** In place of its own answers, by path. */
  readonly answers: Map<string, RequestListener>
  /** Paths that it was asked for. */
  readonly asked: string[]
  /** To what it did at the start; its keys stay. */
  readonly reset: () => void
  readonly close: () => Promise<void>
}

export async function startProvider(): Promise<HostileProvider> {
  const server = createServer((request, response) => {
    const path = request.url?.replace(/\?.*/, "") ?? ""
    provider.asked.push(path)
    const listener = provider.answers.get(path) ?? own.get(path) ?? notFound
    listener(request, response)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const document = {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
  }
  const own = new Map<string, RequestListener>([
    [DISCOVERY, (_, response) => answer(response, provider.discovery(document))],
    ["/keys", (_, response) => answer(response, { keys: provider.keys.map(({ jwk }) => jwk) })],
    [
      "/token",
      (_, response) =>
        answer(response, { access_token: "x", token_type: "Bearer", expires_in: 60, id_token: provider.idToken() }),
    ],
  ])
  const honest = (): Pick<HostileProvider, "discovery" | "idToken"> => ({
    discovery: given => given,
    idToken: () => "",
  })
  const provider: HostileProvider = {
    issuer,
    keys: [],
    ...honest(),
    answers: new Map(),
    asked: [],
    reset: () => {
      Object.assign(provider, honest())
      provider.answers.clear()
      provider.asked.length = 0
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
  return provider
}

const notFound: RequestListener = (_, response) => void response.writeHead(404).end()
const answer = (response: ServerResponse, body: object): void =>
  void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))

/** The options of a service that trusts a provider, as its command line gives them. */
export function trusting(issuer: string, ...more: readonly string[]): Pick<Config, "identityProvider" | "endUsers"> {
  const config = readConfig(["--issuer", issuer, "--end-user-audience", AUDIENCE, ...more], {})
  if ("ended" in config) throw new Error("the options ask for help")
  const { identityProvider, endUsers } = config
  return { identityProvider, endUsers }
}
