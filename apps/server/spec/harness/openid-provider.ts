/** A real OpenID provider on this machine (oidc-provider), and a person who signs in there in a browser without a screen. */
import { createHash, generateKeyPairSync, randomBytes, randomUUID } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import Provider, { type ClientMetadata } from "oidc-provider"
import { AUDIENCE } from "./hostile-provider.ts"

/** An application where people sign in, and which has an agent act for them. */
const APPLICATION = { client_id: "chat-app", redirect_uri: "http://127.0.0.1:1/signed-in" }

export type Tokens = { readonly access_token: string; readonly id_token: string }

export type OpenIdProvider = {
  readonly issuer: string
  /** Signs a person in at the application, by the authorization code flow. The access token is for `AUDIENCE`. */
  readonly signIn: (account: string) => Promise<Tokens>
  readonly close: () => Promise<void>
}

/** @param groupsOf the groups of a person; @param clients further applications */
export async function startOpenIdProvider(
  groupsOf: (account: string) => readonly string[] = () => [],
  clients: readonly ClientMetadata[] = [],
): Promise<OpenIdProvider> {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: APPLICATION.client_id,
        redirect_uris: [APPLICATION.redirect_uri],
        application_type: "native",
        token_endpoint_auth_method: "none",
        id_token_signed_response_alg: "ES256",
      },
      ...clients,
    ],
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: randomUUID(), alg: "ES256", use: "sig" }] },
    cookies: { keys: [randomBytes(16).toString("hex")] },
    claims: { openid: ["sub", "groups", "name"] },
    conformIdTokenClaims: false,
    ttl: { AccessToken: 300, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    findAccount: (_, account) => ({
      accountId: account,
      claims: () => ({ sub: account, name: account, groups: [...groupsOf(account)] }),
    }),
    extraTokenClaims: (_, token) => ("accountId" in token ? { groups: [...groupsOf(token.accountId)] } : {}),
    features: {
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "openid",
          audience: AUDIENCE,
          accessTokenTTL: 300,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
  })
  server.on("request", provider.callback())
  return {
    issuer,
    signIn: account => signIn(issuer, account),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

/** Follows the pages of the provider as a browser does, with its cookies, and trades the code for tokens. */
async function signIn(issuer: string, account: string): Promise<Tokens> {
  const cookies = new Map<string, string>()
  const visit = async (address: URL, form?: Readonly<Record<string, string>>): Promise<URL> => {
    const response = await fetch(address, {
      ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) }),
      headers: { cookie: [...cookies].map(pair => pair.join("=")).join("; ") },
      redirect: "manual",
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get("location")
    if (location === null) throw new Error(`the provider answered ${response.status}: ${await response.text()}`)
    return new URL(location, issuer)
  }
  const verifier = randomBytes(32).toString("base64url")
  const asked = new URL("/auth", issuer)
  asked.search = new URLSearchParams({
    client_id: APPLICATION.client_id,
    redirect_uri: APPLICATION.redirect_uri,
    response_type: "code",
    scope: "openid",
    nonce: randomUUID(),
    resource: AUDIENCE,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  }).toString()
  const forms = [{ prompt: "login", login: account, password: "any" }, { prompt: "consent" }]
  let place = await visit(asked)
  while (!place.href.startsWith(APPLICATION.redirect_uri))
    place = await visit(place, place.pathname.startsWith("/interaction/") ? forms.shift() : undefined)
  const traded = await fetch(new URL("/token", issuer), {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: APPLICATION.client_id,
      redirect_uri: APPLICATION.redirect_uri,
      code: place.searchParams.get("code") ?? "",
      code_verifier: verifier,
      resource: AUDIENCE,
    }),
  })
  if (!traded.ok) throw new Error(`the provider gave no tokens: ${await traded.text()}`)
  return (await traded.json()) as Tokens
}
