import { fileURLToPath } from "node:url"
import { createContext, runInContext } from "node:vm"
import { build } from "esbuild"
import { describe, expect, test } from "vitest"
import { verifyText } from "../src/verify/document.ts"
import { SIGNER_KINDS, testAuthority } from "./fixtures/authority.ts"
import { bothForms, makeDeployment, sealRun, trusted } from "./fixtures/deployment.ts"
import type { Json } from "./fixtures/json-values.ts"
import { asJson } from "./fixtures/json-values.ts"
import { knownValues, mutations } from "./fixtures/mutations.ts"
import { enterAll, listing, outsideLog, tiledLog, withOutside } from "./fixtures/outside-logs.ts"
import { sealCorpus } from "./fixtures/sample-corpus.ts"

/** What the verifier uses of the web platform; every browser has it. */
const WEB = { atob, btoa, TextEncoder, TextDecoder }

/** The verifier as a page loads it: one script, built for browsers. */
async function bundleForBrowsers(): Promise<{ readonly script: string; readonly sources: readonly string[] }> {
  const folder = fileURLToPath(new URL("../src/", import.meta.url))
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: `export { verifyText } from "./verify/document.ts"\nexport { parseTrust } from "@runseal/log/trust/trust-document"`,
      resolveDir: folder,
      loader: "ts",
    },
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "verifier",
    write: false,
    metafile: true,
  })
  return { script: outputFiles[0]!.text, sources: Object.keys(metafile.inputs) }
}

const { script, sources } = await bundleForBrowsers()

const context = createContext({ ...WEB })
runInContext(script, context)

const made = makeDeployment()
const logs = SIGNER_KINDS.map(kind => tiledLog(kind, testAuthority({ kind }), `${kind}.rekor.example`))
const trustDocument = listing(made.trustDocument, outsideLog("v1"), ...logs)
const trust = trusted(trustDocument)
const deployment = { ...made, trust, trustDocument }
const { runs, receipts, attestations } = sealCorpus(deployment)
const { bundle } = sealRun(deployment, { outcome: "ok" })
const inLogs = withOutside(bundle, ...logs.map(log => enterAll(log, bundle.anchors)))
const samples = [
  ...runs.flatMap(({ name, document }) => bothForms(`bundle ${name}`, document.bundle)),
  { name: "bundle in Rekor v2 logs, stamped with keys of every kind", document: asJson(inLogs) },
  ...receipts.map(({ name, document }) => ({ name: `receipt ${name}`, document: asJson(document) })),
  ...attestations.map(({ name, document }) => ({ name: `attestation ${name}`, document: asJson(document) })),
]
const known = knownValues(samples.map(({ document }) => document))

/** The report of the context that has the language itself, the functions of `WEB`, and nothing of Node. */
function verifiedInBrowser(document: Json): unknown {
  const [text, keys] = [JSON.stringify(document), JSON.stringify(trustDocument)].map(it => JSON.stringify(it))
  return JSON.parse(
    runInContext(`JSON.stringify(verifier.verifyText(${text}, [verifier.parseTrust(JSON.parse(${keys}))]))`, context),
  )
}
const verifiedInNode = (document: Json): unknown => asJson(verifyText(JSON.stringify(document), [trust]))

describe("the verifier as a browser gets it", () => {
  test("has no module of Node in it", () => {
    expect(sources.filter(source => source.startsWith("node:") || source.endsWith(".node.ts"))).toEqual([])
    expect(sources.some(source => source.endsWith("src/verify/document.ts"))).toBe(true)
    expect(script.match(/["'`]node:[\w/]+|(?<!\.)\brequire\(/g) ?? []).toEqual([])
  })

  test("runs where nothing of Node is", () => {
    const names = ["process", "Buffer", "require", "module", "global", "setTimeout", "crypto", "fetch", "URL"]
    expect(names.map(name => runInContext(`typeof ${name}`, context))).toEqual(names.map(() => "undefined"))
  })

  test.each(samples)("says of the $name what it says in Node", ({ document }) => {
    expect(verifiedInBrowser(document)).toEqual(verifiedInNode(document))
  })

  test.each(samples)("says of changes of the $name what it says in Node", ({ document }) => {
    const changes = [...mutations(document, known)]
    // A stride without common divisor with the number of changes made on one value spreads over all of them.
    for (let at = 0; at < changes.length; at += 997) {
      const changed = changes[at]!.document
      expect(verifiedInBrowser(changed)).toEqual(verifiedInNode(changed))
    }
  })
})
