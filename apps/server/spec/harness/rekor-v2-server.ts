/**
 * A Rekor v2 log as others run it (sigstore/rekor-tiles): API v2 of hashedrekord 0.0.2 entries over HTTP with the tiles to read,
 * with a tree and a key of its own, built on RFC 6962's own recursion and node:crypto. And a timestamp authority over HTTP, whose
 * timestamps OpenSSL makes.
 */
import { createHash, generateKeyPairSync, sign } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import canonicalizeReference from "canonicalize"
import { afterAll } from "vitest"
import { opensslAuthority } from "../../../../libs/core/test/fixtures/openssl-authority.ts"
import { leafHash, mth, path } from "../../../../libs/log/test/reference-tree.ts"
import { type Behaving, json, type RekorLog, type Sent, serve, signs } from "./rekor-server.ts"

const ENTRIES = "/api/v2/log/entries"
const READ = "/api/v2/"
const TILE = 256

/** A refusal as grpc-gateway words one. */
export const rpcError = (status: number, code: number, message: string, headers = {}): Sent =>
  json(status, { code, message, details: [] }, headers)

export type Authority = Behaving & {
  readonly chainFile: string
  /** What it answers to a request in DER. */
  readonly answerTo: (query: Uint8Array) => Sent
}

/** Starts an authority. @param kind of its key @param options further arguments of its certificate */
export async function startAuthority(...[kind, options]: Parameters<typeof opensslAuthority>): Promise<Authority> {
  const { chainFile, reply, remove } = opensslAuthority(kind, options)
  afterAll(remove)
  const answerTo = (query: Uint8Array): Sent => stamped(reply(query))
  return { ...(await serve(({ body }) => answerTo(Buffer.from(body, "latin1")))), chainFile, answerTo }
}

export const stamped = (body: Uint8Array): Sent => ({
  status: 200,
  headers: { "content-type": "application/timestamp-reply" },
  body,
})

/** Starts a log and gives it this authority. @param kind of its key */
export async function startRekorV2(
  authority: Pick<Authority, "url" | "chainFile">,
  host = "two.rekor.test",
  kind: "ed25519" | "p256" = "ed25519",
): Promise<RekorLog> {
  const { privateKey, publicKey } =
    kind === "p256" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("ed25519")
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString()
  const spki = publicKey.export({ type: "spki", format: "der" })
  // C2SP signed-note for Ed25519; of an ECDSA key Sigstore takes the SPKI alone.
  const named = kind === "p256" ? spki : Buffer.concat([Buffer.from(`${host}\n\x01`, "latin1"), spki.subarray(-32)])
  const logId = createHash("sha256").update(named).digest()
  const folder = mkdtempSync(join(tmpdir(), "runseal-rekor-v2-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const keyFile = join(folder, "rekor.pub")
  writeFileSync(keyFile, pem)
  const tree = openTree(host, logId, text => sign(kind === "p256" ? "sha256" : null, text, privateKey))
  const server = await serve(tree.answer)
  const log = ["--anchor", "rekor", "--rekor-version", "2", "--rekor-url", server.url, "--rekor-origin", host]
  const keys = ["--rekor-key", keyFile, "--tsa-url", authority.url, "--tsa-chain", authority.chainFile]
  return { ...server, host, keyFile, pem, options: [...log, ...keys], bodies: tree.bodies }
}

function openTree(host: string, logId: Buffer, signed: (text: Buffer) => Buffer) {
  const bodies: string[] = []
  const leaves: Uint8Array[] = []

  const checkpoint = (): string => {
    const text = `${host}\n${leaves.length}\n${Buffer.from(mth(leaves)).toString("base64")}\n`
    const line = Buffer.concat([logId.subarray(0, 4), signed(Buffer.from(text))]).toString("base64")
    // A witness nobody here knows cosigned it, as some do.
    const witness = Buffer.alloc(76, 7).toString("base64")
    return `${text}\n— ${host} ${line}\n— witness.test ${witness}\n`
  }
  const add = (text: string): Sent => {
    const body = bodyFor(text)
    if (body === undefined) return rpcError(400, 3, "invalid hashedrekord request")
    const known = bodies.indexOf(body)
    if (known !== -1) {
      const message = `an equivalent entry already exists in the transparency log with index ${known}`
      return rpcError(409, 6, message, { "x-log-index": `${known}` })
    }
    bodies.push(body)
    leaves.push(leafHash(Buffer.from(body)))
    const index = bodies.length - 1
    return json(201, {
      logIndex: `${index}`,
      logId: { keyId: logId.toString("base64") },
      kindVersion: { kind: "hashedrekord", version: "0.0.2" },
      integratedTime: "0",
      inclusionPromise: null,
      inclusionProof: {
        logIndex: `${index}`,
        rootHash: Buffer.from(mth(leaves)).toString("base64"),
        treeSize: `${leaves.length}`,
        hashes: path(index, leaves).map(hash => Buffer.from(hash).toString("base64")),
        checkpoint: { envelope: checkpoint() },
      },
      canonicalizedBody: Buffer.from(body).toString("base64"),
    })
  }
  const read = (at: string): Sent => {
    const bytes = (body: string | Uint8Array): Sent => ({ status: 200, headers: {}, body })
    if (at === "checkpoint") return bytes(checkpoint())
    const [, index = "", width = ""] = /^tile\/0\/(\d{3})(?:\.p\/(\d+))?$/.exec(at) ?? []
    const first = Number(index) * TILE
    const hashes = leaves.slice(first, first + (width === "" ? TILE : Number(width)))
    const whole = index !== "" && hashes.length === (width === "" ? TILE : Number(width))
    return whole ? bytes(Buffer.concat(hashes)) : rpcError(404, 5, "not found")
  }
  return {
    bodies: (): readonly string[] => bodies,
    answer: ({ method, path: at, body }: { method: string; path: string; body: string }): Sent => {
      if (method === "POST" && at === ENTRIES) return add(body)
      return method === "GET" && at.startsWith(READ) ? read(at.slice(READ.length)) : rpcError(404, 5, "Not Found")
    },
  }
}

/** The canonical body of the entry that a request asks for; undefined when its signature does not verify. */
function bodyFor(text: string): string | undefined {
  try {
    const { hashedRekordRequestV002, ...more } = JSON.parse(text)
    const { digest, signature, ...rest } = hashedRekordRequestV002
    const { keyDetails, publicKey } = signature.verifier
    if (Object.keys(more).length + Object.keys(rest).length > 0 || keyDetails !== "PKIX_ECDSA_P256_SHA_256")
      return undefined
    const [key, hash, der] = [publicKey.rawBytes, digest, signature.content].map(value => Buffer.from(value, "base64"))
    if (key === undefined || hash === undefined || der === undefined || !signs(key, hash, der)) return undefined
    const data = { algorithm: "SHA2_256", digest }
    return canonicalizeReference({
      apiVersion: "0.0.2",
      kind: "hashedrekord",
      spec: { hashedRekordV002: { data, signature } },
    })
  } catch {
    return undefined
  }
}
