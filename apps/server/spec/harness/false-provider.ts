/** An OpenID provider for sign-ins that answers as a test says: it signs tokens itself, and keeps no rule. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose"
import { CLIENT } from "./sign-in-browser.ts"

type Answerer = (request: IncomingMessage, response: ServerResponse) => void

export type FalseProvider = {
  readonly issuer: string
  /** Changes the claims of the next ID tokens. */
  claims: (given: Readonly<Record<string, unknown>>) => Record<string, unknown>
  /** How they are signed. */
  signature: "RS256" | "HS256" | "none" | "other-key" | "unknown-kid"
  /** In place of its standard answer, by path. */
  readonly answers: Map<string, Answerer>
  /** Changes the discovery document. */
  discovery: (given: Readonly<Record<string, unknown>>) => object
  /** Requests so far, by path. */
  readonly asked: string[]
  /** To honest behaviour. */
  readonly reset: () => void
  readonly close: () => Promise<void>
}

const json = (response: ServerResponse, value: object): void => {
  response.setHeader("Content-Type", "application/json").end(JSON.stringify(value))
}

/** @param nonce of the sign-in that is under way: a browser would have brought it */
export async function falseProvider(nonce: () => string): Promise<FalseProvider> {
  const [{ privateKey, publicKey }, other] = [await generateKeyPair("RS256"), await generateKeyPair("RS256")]
  const jwk = { ...(await exportJWK(publicKey)), kid: "1", use: "sig", alg: "RS256" }
  const server: Server = createServer((request, response) => void answer(request, response))
  await new Promise<void>(listening => server.listen(0, "127.0.0.1", listening))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const idToken = (): Promise<string> | string => {
    const claims = provider.claims({
      iss: issuer,
      aud: CLIENT.id,
      sub: "grace",
      name: "Grace",
      groups: ["ops"],
      nonce: nonce(),
      iat: Math.floor(Date.now() / 1000),
      exp: Math.floor(Date.now() / 1000) + 300,
    })
    switch (provider.signature) {
      case "none":
        return new UnsecuredJWT(claims).encode()
      case "HS256":
        return new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(CLIENT.secret))
      case "other-key":
        return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "1" }).sign(other.privateKey)
      case "unknown-kid":
        return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "2" }).sign(privateKey)
      case "RS256":
        return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "1" }).sign(privateKey)
    }
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url?.replace(/\?.*/, "") ?? ""
    provider.asked.push(path)
    const special = provider.answers.get(path)
    if (special !== undefined) return special(request, response)
    if (path === "/token")
      return json(response, { access_token: "x", token_type: "Bearer", expires_in: 60, id_token: await idToken() })
    if (path === "/jwks") return json(response, { keys: [jwk] })
    return json(
      response,
      provider.discovery({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      }),
    )
  }
  const provider: FalseProvider = {
    issuer,
    claims: given => ({ ...given }),
    signature: "RS256",
    answers: new Map(),
    discovery: given => given,
    asked: [],
    reset: () => {
      provider.claims = given => ({ ...given })
      provider.signature = "RS256"
      provider.discovery = given => given
      provider.answers.clear()
      provider.asked.length = 0
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise(closed => server.close(closed))
    },
  }
  return provider
}
