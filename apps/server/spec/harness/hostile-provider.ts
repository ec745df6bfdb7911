/** An OpenID provider of the tests' own: it publishes what a test wants, signs what a test wants, and counts what it is asked. */
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
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

const PSS = { padding: 6, saltLength: 32 }
export const signedBy =
  ({ alg, privateKey }: ProviderKey) =>
  (input: Buffer): Uint8Array => {
    if (alg === "EdDSA") return sign(null, input, privateKey)
    if (alg === "ES256") return sign("sha256", input, { key: privateKey, dsaEncoding: "ieee-p1363" })
    return sign("sha256", input, alg === "PS256" ? { key: privateKey, ...PSS } : privateKey)
  }

/** What the provider does with a request for its keys instead of answering; "away": it answers nothing at all. */
export type ProviderFault = "redirect" | "slow" | "large" | "unavailable" | "no keys" | "away"

export type HostileProvider = {
  readonly issuer: string
  /** The keys that it publishes; a test changes them. */
  readonly keys: ProviderKey[]
  /** Members of its discovery document in place of its own. */
  discovery: JsonObject
  fault: ProviderFault | undefined
  /** Paths that it was asked for. */
  readonly asked: string[]
  readonly close: () => Promise<void>
}

export async function startProvider(): Promise<HostileProvider> {
  const server = createServer((request, response) => {
    provider.asked.push(request.url ?? "")
    if (provider.fault === "away") return void request.destroy()
    if (request.url === "/.well-known/openid-configuration") return answer(response, discovery())
    if (request.url !== "/keys") return void response.writeHead(404).end()
    const keys = { keys: provider.keys.map(({ jwk }) => jwk) }
    switch (provider.fault) {
      case "redirect":
        return void response.writeHead(302, { location: `${provider.issuer}/other-keys` }).end()
      case "unavailable":
        return void response.writeHead(503).end()
      case "slow":
        return void response.writeHead(200, { "content-type": "application/json" }).write("{")
      case "large":
        return answer(response, { ...keys, more: "k".repeat(65_536) })
      case "no keys":
        return answer(response, { keys: "none" })
      default:
        return answer(response, keys)
    }
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const discovery = (): object => ({
    issuer,
    jwks_uri: `${issuer}/keys`,
    subject_types_supported: ["public"],
    ...provider.discovery,
  })
  const provider: HostileProvider = {
    issuer,
    keys: [],
    discovery: {},
    fault: undefined,
    asked: [],
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
  return provider
}

const answer = (response: ServerResponse, body: object): void =>
  void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))

/** The options of a service that trusts a provider, as its command line gives them. */
export function trusting(issuer: string, ...more: readonly string[]): Pick<Config, "identityProvider" | "endUsers"> {
  const config = readConfig(["--issuer", issuer, "--end-user-audience", AUDIENCE, ...more], {})
  if ("ended" in config) throw new Error("the options ask for help")
  const { identityProvider, endUsers } = config
  return { identityProvider, endUsers }
}
