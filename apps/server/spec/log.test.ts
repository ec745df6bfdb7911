/** docs/api.md, "The log" and "Trust": the log's read endpoints under /log/ and the trust documents under /.well-known/. */
import { createHash, createPublicKey } from "node:crypto"
import { gunzipSync } from "node:zlib"
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import {
  naiveConsistency,
  naiveEntryBundles,
  naiveLeaf,
  naiveRoot,
  naiveTiles,
  rootFromPath,
} from "./harness/naive-log.ts"
import { expectRefused, keysOf, listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { readStoredBundle } from "./harness/stored-bundle.ts"
import { standingService } from "./harness/test-service.ts"

/** Two entries a run and the genesis entry: more than one full tile. */
const RUNS = 140
const SIZE = 2 * RUNS + 1

eachDatabase("the log", open => {
  const service = standingService(() => ({ open }))
  let bodies: readonly Buffer[] = []
  let leaves: readonly Buffer[] = []

  beforeAll(async () => {
    await Promise.all(Array.from({ length: RUNS }, () => service().execute(request())))
    const rows = await service().db.sql<{ body: string }[]>`select body from log_entry order by log_index`
    bodies = rows.map(({ body }) => Buffer.from(body, "utf8"))
    leaves = bodies.map(naiveLeaf)
  })

  const bytesOf = async (path: string): Promise<Buffer> => {
    const response = await service().request(path)
    expect(response.status, path).toBe(200)
    return Buffer.from(await response.arrayBuffer())
  }

  test("entry 0 is the log's birth and belongs to no run", async () => {
    const answer = await service().get("/log/entry/0")
    expect(bodies).toHaveLength(SIZE)
    expect(answer.body.log_index).toBe(0)
    expect(await readStoredBundle(service().db, 1)).not.toContain('"logIndex":"0"')
  })

  test("/log/checkpoint is text, revalidated by caches, and its key is named by its origin line", async () => {
    const { headers, text } = await service().get("/log/checkpoint")
    expect(headers.get("content-type")).toMatch(/^text\/plain/)
    expect(headers.get("cache-control")).toBe("no-cache")
    expect(text).toMatch(/^(runseal\.local\/[1-9]\d*)\n\d+\n[A-Za-z0-9+/]{43}=\n\n— \1 [A-Za-z0-9+/]+=*\n$/)
  })

  describe("an entry bundle", () => {
    const FULL = "/log/tile/entries/000"
    const ask = (path: string, coding?: string, method = "GET"): Promise<Response> =>
      service().request(path, { method, headers: coding === undefined ? {} : { "Accept-Encoding": coding } })

    test.each([
      "gzip",
      "GZIP",
      "x-gzip",
      "gzip, deflate, br, zstd",
      "br;q=1.0, gzip;q=0.8, *;q=0.1",
      "*",
      "*;q=0.001",
      "identity;q=0, gzip",
      "identity;q=0, *;q=0.5",
      "gzip;q=0.5, identity;q=0.5",
      " , gzip ; q=0.5 ,",
    ])("is compressed for who asks for %j", async coding => {
      for (const [path, width] of [
        [FULL, 256],
        ["/log/tile/entries/000.p/3", 3],
        [FULL, 256],
      ] as const) {
        const response = await ask(path, coding)
        const bytes = Buffer.from(await response.arrayBuffer())
        const plain = await bytesOf(path)
        expect(response.status).toBe(200)
        expect(response.headers.get("content-encoding")).toBe("gzip")
        expect(response.headers.get("vary")).toBe("Accept-Encoding")
        expect(response.headers.get("cache-control")).toMatch(/immutable/)
        expect(response.headers.get("content-type")).toBe("application/octet-stream")
        expect(gunzipSync(bytes).equals(plain)).toBe(true)
        if (width === 256) expect(bytes.length).toBeLessThan(plain.length / 3)
      }
    })

    test.each([
      undefined,
      "",
      "identity",
      "gzip;q=0",
      "gzip;q=0.000, *",
      "*;q=0, identity",
      "br, deflate",
      "gzip;q=0.5, identity",
      "gzip;q=2",
      "gzip;level=9",
      "gzipped",
      "gzip gzip",
      `${"br,".repeat(40)}gzip`,
    ])("is plain for %j", async coding => {
      const response = await ask(FULL, coding)
      expect(response.headers.get("content-encoding")).toBeNull()
      expect(response.headers.get("vary")).toBe("Accept-Encoding")
      expect(Buffer.from(await response.arrayBuffer()).equals(await bytesOf(FULL))).toBe(true)
    })

    test.each(["identity;q=0", "*;q=0", "gzip;q=0, identity;q=0", "br, *;q=0"])("is neither for %j", async coding => {
      const response = await ask(FULL, coding)
      expect(response.status).toBe(406)
      expect(response.headers.get("vary")).toBe("Accept-Encoding")
      expect(await response.json()).toMatchObject({
        error: expect.stringMatching(/^An entry bundle .*\.$/),
        code: "not_acceptable",
      })
    })

    test("that the log does not hold is told so, compressed or not", async () => {
      for (const coding of ["gzip", "identity"])
        for (const path of ["/log/tile/entries/001.p/200", "/log/tile/entries/x001/000"])
          expect((await ask(path, coding)).status).toBe(404)
    })

    test("has the same head for HEAD, and many ask for it at once", async () => {
      const head = await ask(FULL, "gzip", "HEAD")
      expect([head.status, head.headers.get("content-encoding"), await head.text()]).toEqual([200, "gzip", ""])
      const widths = Array.from({ length: 60 }, (_, at) => at + 1)
      const all = await Promise.all(widths.map(width => ask(`/log/tile/entries/000.p/${width}`, "gzip")))
      for (const [at, response] of all.entries()) {
        const bundle = naiveEntryBundles(bodies.slice(0, at + 1)).get(`tile/entries/000.p/${at + 1}`)
        expect(gunzipSync(Buffer.from(await response.arrayBuffer())).equals(bundle!)).toBe(true)
      }
    })

    test("is not a tile of hashes, which is plain whatever is asked: it would not become shorter", async () => {
      const response = await ask("/log/tile/0/000", "gzip")
      expect([response.headers.get("content-encoding"), response.headers.get("vary")]).toEqual([null, null])
    })
  })

  test("every width of every partial tile is what the first entries make", async () => {
    for (const width of [1, 2, 3, 127, 128, 255]) {
      const part = leaves.slice(0, width)
      expect((await bytesOf(`/log/tile/0/000.p/${width}`)).equals(Buffer.concat(part))).toBe(true)
      const bundle = naiveEntryBundles(bodies.slice(0, width)).get(`tile/entries/000.p/${width}`)
      expect((await bytesOf(`/log/tile/entries/000.p/${width}`)).equals(bundle!)).toBe(true)
    }
  })

  test("a log rebuilt from its published tiles has the published root", async () => {
    const text = (await service().get("/log/checkpoint")).text
    const [, size, root] = text.split("\n")
    const hashes: Buffer[] = []
    for (const [path] of naiveTiles(leaves)) {
      if (!path.startsWith("tile/0/")) continue
      const tile = await bytesOf(`/log/${path}`)
      for (let at = 0; at < tile.length; at += 32) hashes.push(tile.subarray(at, at + 32))
    }
    expect(hashes).toHaveLength(Number(size))
    expect(naiveRoot(hashes).toString("base64")).toBe(root)
  })

  test("tiles are immutable bytes to caches", async () => {
    const { headers } = await service().request("/log/tile/0/000")
    expect(headers.get("content-type")).toBe("application/octet-stream")
    expect(headers.get("cache-control")).toContain("immutable")
  })

  test("a full tile that is not full yet is a 404 that names the partial one", async () => {
    for (const level of ["0", "1", "entries"]) {
      const refused = expectRefused(await service().get(`/log/tile/${level}/${level === "1" ? "000" : "001"}`), 404)
      const [partial] = /tile\/\w+\/00[01]\.p\/\d+/.exec(refused) ?? []
      expect((await service().request(`/log/${partial}`)).status, refused).toBe(200)
    }
    const none = expectRefused(await service().get("/log/tile/0/002"), 404)
    expect(none).toBe("The log has no such tile yet.")
  })

  test.each(NO_TILES)("what is no tile of this log is a 404: %s", async path => {
    expectRefused(await service().get(`/log/tile/${path}`), 404)
  })

  test("any entry comes with a proof that leads to the published root", async () => {
    for (const index of [0, 1, 2, 127, 128, 255, 256, SIZE - 1]) {
      const { status, body } = await service().get(`/log/entry/${index}`)
      expect(status).toBe(200)
      expect(keysOf(body)).toEqual(
        ["canonicalized_body", "checkpoint", "inclusion_proof", "integrated_time", "log_index", "ok"].sort(),
      )
      const entry = Buffer.from(textAt(body, "canonicalized_body"), "base64")
      expect(entry.equals(bodies[index]!)).toBe(true)
      const path = listAt(body, "inclusion_proof", "hashes").map(hash => Buffer.from(String(hash), "base64"))
      const root = rootFromPath(index, numberAt(body, "inclusion_proof", "tree_size"), naiveLeaf(entry), path)
      expect(root?.toString("base64")).toBe(textAt(body, "inclusion_proof", "root_hash"))
      expect(textAt(body, "checkpoint")).toContain(`\n${SIZE}\n${root?.toString("base64")}\n`)
    }
  })

  test.each([`${SIZE}`, "-1", "01", "1.0", "abc", "99999999999999999999", "9007199254740992", "0x10", "1e1"])(
    "no entry: %s is a 404",
    async index => {
      expectRefused(await service().get(`/log/entry/${index}`), 404)
    },
  )

  test("consistency proofs are RFC 6962's", async () => {
    for (const [first, second] of [
      [1, 2],
      [1, SIZE],
      [3, 7],
      [128, 256],
      [255, 281],
      [256, 281],
      [SIZE, SIZE],
    ] as const) {
      const { status, body } = await service().get(`/log/consistency?first=${first}&second=${second}`)
      expect(status).toBe(200)
      const expected = naiveConsistency(first, leaves.slice(0, second)).map(hash => hash.toString("base64"))
      expect(body).toEqual({ ok: true, first, second, hashes: expected })
    }
  })

  test.each(NO_SIZES)("no tree sizes: %s is a 400", async query => {
    expectRefused(await service().get(`/log/consistency${query}`), 400)
  })

  test("an anchor's proof in a record is against a tree the published log grew from", async () => {
    const bundle = (await service().get("/runs/1/artifacts")).body
    for (const slot of ["pre_anchor", "complete_record"]) {
      const proof = objectAt(bundle, "anchors", slot, "entry", "inclusionProof")
      const size = Number(textAt(proof, "treeSize"))
      expect(naiveRoot(leaves.slice(0, size)).toString("base64")).toBe(textAt(proof, "rootHash"))
    }
  })
})

describe("the trust documents", () => {
  const service = standingService()

  test("the trust document names service, origin, keys and since when leaf v7 is written", async () => {
    const { status, headers, body } = await service().get("/.well-known/runseal-trust.json")
    expect(status).toBe(200)
    expect(headers.get("cache-control")).toBe("no-cache")
    expect(body).toMatchObject({
      kind: "vfa.trust.v1",
      origin: expect.stringMatching(/^runseal\.local - [1-9]\d*$/),
      service_keys: [{ key_id: expect.stringMatching(/^[0-9a-f]{64}$/), valid_from: expect.any(String) }],
      checkpoint_keys: [expect.stringMatching(/^runseal\.local\/[1-9]\d*\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/)],
      leaf_v7_from: expect.any(String),
    })
  })

  test("the trusted root is the pure part of it", async () => {
    const document = (await service().get("/.well-known/runseal-trust.json")).body
    const root = (await service().get("/.well-known/trusted-root.json")).body
    expect(root).toEqual(document.trusted_root)
    expect(root.mediaType).toMatch(/^application\/vnd\.dev\.sigstore\.trustedroot/)
    expect(listAt(root, "tlogs")).toHaveLength(1)
  })

  test("service.pub is the service key of the trust document in PEM", async () => {
    const document = (await service().get("/.well-known/runseal-trust.json")).body
    const { text } = await service().get("/.well-known/service.pub")
    const spki = createPublicKey(text).export({ type: "spki", format: "der" })
    expect(spki.toString("base64")).toBe(textAt(document, "service_keys", 0, "spki"))
    expect(createHash("sha256").update(spki).digest("hex")).toBe(textAt(document, "service_keys", 0, "key_id"))
  })

  test("none of them holds a private key", async () => {
    for (const path of ["runseal-trust.json", "trusted-root.json", "service.pub"])
      expect((await service().get(`/.well-known/${path}`)).text).not.toMatch(/PRIVATE/)
  })
})

const NO_TILES = [
  ...["0/000.p/0", "0/000.p/256", "0/000.p/257", "0/001.p/26", "0/002", "0/999", "1/000", "1/000.p/2", "6/000"],
  ...["7/000", "-1/000", "entries/001", "entries/002", "0/0", "0/x000/000", "0/x001/000", "0/000.p/01", "x/000"],
  ...["0/000.p/", "0/000/", "", "0", "entries/000.p/abc", "0/..%2f000", "0/x999/x999/x999/x999/x999/999"],
]
const NO_SIZES = [
  ...["", "?first=1", "?second=1", "?first=0&second=1", "?first=2&second=1", "?first=1&second=999999"],
  ...["?first=-1&second=1", "?first=1.5&second=2", "?first=abc&second=2", "?first=1&second=9007199254740993"],
]
