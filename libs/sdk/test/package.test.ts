/** The package as it is published, built by its own script, and the guide as a reader would run it. */
import { execFile, execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { build as bundle } from "esbuild"
import { afterAll, beforeAll, expect, test } from "vitest"
import { API_KEY, REPORT, type Service, startService } from "./scripted-service.ts"

const SDK = fileURLToPath(new URL("..", import.meta.url))
const ROOT = join(SDK, "../..")
const MODULES = join(ROOT, "node_modules")

/** A Node 20 that is not one of the workspace's own. */
const node20 = (process.env.PATH ?? "")
  .split(delimiter)
  .filter(folder => !folder.includes("node_modules"))
  .map(folder => join(folder, "node"))
  .find(file => existsSync(file) && execFileSync(file, ["--version"]).toString().startsWith("v20."))

/** The files that the guide hashes. */
const AGENT = "a packed agent"

let folder: string
let published: string
let service: Service

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "runseal-sdk-"))
  published = join(folder, "node_modules/@runseal/sdk")
  build(published)
  const guide = guideProgram()
  writeFileSync(join(folder, "package.json"), '{"type":"module"}')
  writeFileSync(join(folder, "guide.ts"), guide)
  writeFileSync(join(folder, "guide.js"), stripTypeScriptTypes(guide))
  writeFileSync(join(folder, "my-agent-2.4.1.tgz"), AGENT)
  writeFileSync(join(folder, "claims-letters.json"), '{"agent":"claims-letters"}')
  service = await startService()
  writeFileSync(join(folder, "trust.json"), JSON.stringify(service.deployment.trustDocument))
})
afterAll(async () => {
  await service.stop()
  rmSync(folder, { recursive: true })
})

/** Runs the build script with another place for its result. */
function build(place: string): void {
  const { scripts } = JSON.parse(readFileSync(join(SDK, "package.json"), "utf8"))
  mkdirSync(place, { recursive: true })
  const env = { ...process.env, PATH: `${join(MODULES, ".bin")}${delimiter}${process.env.PATH}` }
  execFileSync("/bin/sh", ["-c", scripts.build.replaceAll("dist/package", place)], { cwd: SDK, env })
}

/** The guide's examples, one after the other. */
function guideProgram(): string {
  const guide = readFileSync(join(ROOT, "docs/sdk.md"), "utf8")
  return [...guide.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, example]) => example).join("\n")
}

const runGuide = async (node: string, { baseUrl }: Service): Promise<string[]> => {
  const env = { RUNSEAL_URL: baseUrl, RUNSEAL_API_KEY: API_KEY }
  const { stdout } = await promisify(execFile)(node, [join(folder, "guide.js")], { cwd: folder, env })
  return stdout.trimEnd().split("\n")
}

const GUIDE_SAYS = [
  "run 1: ok",
  "runseal 1.0.0",
  "runseal",
  "allowed by baseline-permit",
  "run 1",
  "one run: true",
  "transferred 120.00 with Runseal-Permit of 3 parts: true, run 1",
  "paid 80.00",
  "closed payments",
  "closed payments",
  "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
  "true",
  "7 records: COMPLETE CHAIN VERIFIED AND ANCHORED",
  "7 stage_error",
  "6 attestation_gap",
  "5 aivp_t4_halt",
  "4 macc_halt",
  "3 ccv_halt",
  "2 pepg_deny",
  "1 ok",
  "1 found",
  "ATTESTATION VERIFIED AND ANCHORED",
  "evidence of claim 4711 sha256",
  "customer:erp begins with rsk_",
  "customer:erp 0",
  "true",
  "application/vnd.in-toto+json",
  "key 2 was made: already_done",
  "run 1 of key 1: VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
  "no more runs",
  "all of that key: COMPLETE CHAIN VERIFIED AND ANCHORED",
  "GET /runs/1/ccv-halt-receipt 404: Run 1 ended as ok; this artifact exists only for a run that ended as ccv_halt.",
  "ok",
]

test("the guide runs as it stands", async () => {
  expect(await runGuide(process.execPath, service)).toEqual(GUIDE_SAYS)
  const saved = readFileSync(join(folder, "bundle.json"), "utf8")
  expect(saved).toBe(JSON.stringify(service.runs[0]?.bundle, null, 1))
  expect(readFileSync(join(folder, "report.pdf"), "utf8")).toBe(REPORT)
  const program_id = createHash("sha256").update(AGENT).digest("hex")
  expect(service.asked.find(({ path }) => path === "/execute")?.body).toContain(`"program_id":"${program_id}"`)
})

const absent = node20 === undefined ? " (not run: there is no Node 20 here)" : ""
test.skipIf(node20 === undefined)(`the guide runs on plain Node 20${absent}`, async () => {
  const another = await startService()
  expect(await runGuide(node20 ?? "", another)).toEqual(GUIDE_SAYS)
  await another.stop()
})

/** Checks a program with nothing but the package's own declarations. */
function compile(file: string): { readonly status: number | null; readonly stdout: string } {
  const options = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2023",
    "--lib",
    "es2023,dom,dom.iterable",
  ]
  const types = ["--types", "node", "--typeRoots", join(MODULES, "@types")]
  return spawnSync(join(MODULES, ".bin/tsc"), [...options, ...types, file], { cwd: folder, encoding: "utf8" })
}

test("the compiler accepts the guide", () => {
  expect(compile("guide.ts")).toMatchObject({ status: 0, stdout: "" })
})

test("the package depends on nothing and imports nothing, not even of Node", () => {
  const manifest = JSON.parse(readFileSync(join(published, "package.json"), "utf8"))
  expect(Object.keys(manifest).filter(name => /dependencies|scripts|private/i.test(name))).toEqual([])
  const { outputs } = JSON.parse(readFileSync(`${published}-meta.json`, "utf8"))
  const imports = Object.values<{ imports: { external?: true }[] }>(outputs).flatMap(output => output.imports)
  expect(imports.filter(({ external }) => external)).toEqual([])
})

/** Bytes of what a bundler takes from the package for a program. */
async function bundledBytes(program: string): Promise<number> {
  const stdin = { contents: program, resolveDir: folder }
  const { outputFiles } = await bundle({ stdin, bundle: true, write: false, minify: true, format: "esm" })
  return outputFiles[0]?.contents.length ?? 0
}

test("a bundle with the client alone has no code that verifies", async () => {
  const client = await bundledBytes('import { createClient } from "@runseal/sdk"; console.log(createClient)')
  const verify = await bundledBytes('import { verifyBundle } from "@runseal/sdk/verify"; console.log(verifyBundle)')
  // Requests for an approval are a kind of document of their own, and passkeys have endpoints.
  expect(client).toBeLessThan(177_000)
  // Of the table of endpoints it has the routes, and no word of their descriptions.
  expect(readFileSync(join(published, "index.js"), "utf8")).not.toMatch(/summary: "Mint a key"|EXAMPLE_REQUEST/)
  expect(verify).toBeGreaterThan(150_000)
})

test("both entries give the same functions", async () => {
  writeFileSync(
    join(folder, "same.js"),
    'import * as all from "@runseal/sdk"; import * as verify from "@runseal/sdk/verify"\n' +
      "console.log(Object.keys(verify).every(name => all[name] === verify[name]), Object.keys(verify).join())",
  )
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "same.js")], { cwd: folder })
  expect(stdout).toBe(
    "true COMPLETENESS_VERDICTS,InvalidArgumentError,VERDICTS,isUnreadable,verifyBundle,verifyExport\n",
  )
})

test("the compiler refuses a run without a payload", () => {
  writeFileSync(
    join(folder, "bad.ts"),
    'import { createClient } from "@runseal/sdk"\n' +
      `await createClient().execute({ program_id: "a", route_id: "b", registry_record_hash: "c" })\n`,
  )
  const { status, stdout } = compile("bad.ts")
  expect(status).not.toBe(0)
  expect(stdout).toMatch(/bad\.ts\(2,.*'payload'/s)
})

test("the package's exports exist", () => {
  const { exports, main, types, homepage } = JSON.parse(readFileSync(join(published, "package.json"), "utf8"))
  const files = [
    main,
    types,
    ...Object.values<Record<string, string>>(exports).flatMap(target => Object.values(target)),
  ]
  expect(files).toHaveLength(6)
  for (const file of files) expect(existsSync(join(published, file))).toBe(true)
  expect(new URL(homepage).protocol).toBe("https:")
})

test("the package carries its licence and those of what it bundles", () => {
  expect(readdirSync(published)).toEqual(expect.arrayContaining(["LICENSE", "README.md", "THIRD-PARTY-LICENSES.txt"]))
  const others = readFileSync(join(published, "THIRD-PARTY-LICENSES.txt"), "utf8")
  for (const name of ["@noble/curves", "@noble/hashes", "jose", "valibot"]) expect(others).toContain(`${name} `)
})
