/** A signer as a cloud KMS serves one: Google Cloud KMS' `publicKey` and `asymmetricSign` of a key version, and one that fails in chosen ways. */
import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { p256 } from "@noble/curves/nist.js"

/** What the signer does instead of signing. */
export type SignerFault =
  | "silent"
  | "unavailable"
  | "once unavailable"
  | "forbidden"
  | "another key"
  | "another digest"
  | "no DER"
  | "long"

export type StandInSigner = {
  /** Address of its key version. */
  readonly url: string
  readonly token: string
  /** DER. */
  readonly spki: Uint8Array
  /** Signatures that it gave high-S, of all. */
  readonly counts: { high: number; signed: number; asked: number }
  /** What goes wrong from now on; undefined: nothing. */
  fault: SignerFault | undefined
  readonly close: () => Promise<void>
}

const PATH = "/v1/projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1"
const ORDER = p256.Point.CURVE().n

function newKey(): { readonly secret: Uint8Array; readonly spki: Uint8Array; readonly pem: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const { d = "" } = privateKey.export({ format: "jwk" })
  const spki = new Uint8Array(publicKey.export({ type: "spki", format: "der" }))
  return {
    secret: Buffer.from(d, "base64url"),
    spki,
    pem: publicKey.export({ type: "spki", format: "pem" }).toString(),
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}

/** Starts one on a free port. No two of its signatures are the same, and half of them are high-S, as a KMS gives them. */
export async function startSigner(token = "a-token"): Promise<StandInSigner> {
  const [key, stranger] = [newKey(), newKey()]
  const counts = { high: 0, signed: 0, asked: 0 }
  let fault: SignerFault | undefined

  const sign = (digest: Uint8Array): string => {
    const wrong = fault === "another digest" ? digest.map(byte => byte ^ 1) : digest
    const { secret } = fault === "another key" ? stranger : key
    const der = p256.sign(wrong, secret, { prehash: false, format: "der", lowS: false, extraEntropy: true })
    const { r, s } = p256.Signature.fromBytes(der, "der")
    const high = ++counts.signed % 2 === 0
    const shown = high === s > ORDER / 2n ? s : ORDER - s
    if (high) counts.high++
    return Buffer.from(new p256.Signature(r, shown).toBytes("der")).toString("base64")
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request)
    counts.asked++
    const say = (status: number, value: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
    }
    if (fault === "silent") return
    if (fault === "once unavailable") {
      fault = undefined
      return say(503, {})
    }
    if (fault === "unavailable") return say(503, {})
    if (fault === "long") return say(200, { signature: "A".repeat(100_000) })
    if (fault === "forbidden" || request.headers.authorization !== `Bearer ${token}`) return say(403, {})
    if (request.method === "GET" && request.url === `${PATH}/publicKey`)
      return say(200, { pem: key.pem, algorithm: "EC_SIGN_P256_SHA256", name: PATH.slice(4) })
    if (request.method !== "POST" || request.url !== `${PATH}:asymmetricSign`) return say(404, {})
    if (fault === "no DER") return say(200, { signature: "AAAA" })
    const digest = Buffer.from(JSON.parse(body).digest.sha256, "base64")
    say(200, { signature: sign(digest), name: PATH.slice(4) })
  }
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}${PATH}`,
    token,
    spki: key.spki,
    counts,
    get fault() {
      return fault
    },
    set fault(next) {
      fault = next
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}
