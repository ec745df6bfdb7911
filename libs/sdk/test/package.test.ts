/** The package as it is published, built by its own script, and the guide as a reader would run it. */
import { execFile, execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { API_KEY, type Service, startService } from "./scripted-service.ts"

const SDK = fileURLToPath(new URL("..", import.meta.url))
const ROOT = join(SDK, "../..")
const MODULES = join(ROOT, "node_modules")

/** A Node 20 that is not one of the workspace's own. */
const node20 = (process.env.PATH ?? "")
  .split(delimiter)
  .filter(folder => !folder.includes("node_modules"))
  .map(folder => join(folder, "node"))
  .find(file => existsSync(file) && execFileSync(file, ["--version"]).toString().startsWith("v20."))

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
  const env = { RUNSEAL_URL: baseUrl, RUNSEAL_KEY: API_KEY }
  const { stdout } = await promisify(execFile)(node, [join(folder, "guide.js")], { cwd: folder, env })
  return stdout.trimEnd().split("\n")
}

const GUIDE_SAYS = [
  "runseal 1.0.0",
  "run 1 allowed by baseline-permit",
  "one run: true",
  "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
  "true",
  "7 records: COMPLETE CHAIN VERIFIED AND ANCHORED",
  "1 ok",
  "ATTESTATION VERIFIED AND ANCHORED",
  "evidence of claim 4711 sha256",
  "customer:erp begins with rsk_",
  "customer:erp 0",
  "true",
  "application/vnd.in-toto+json",
  "Run 1 ended as ok; this artifact exists only for a run that ended as ccv_halt.",
  "ok",
]

test("the guide runs as it stands", async () => {
  expect(await runGuide(process.execPath, service)).toEqual(GUIDE_SAYS)
  const saved = readFileSync(join(folder, "bundle.json"), "utf8")
  expect(saved).toBe(JSON.stringify(service.runs[0]?.bundle, null, 1))
})

const absent = node20 === undefined ? " (not run: there is no Node 20 here)" : ""
test.skipIf(node20 === undefined)(`the guide runs on plain Node 20${absent}`, async () => {
  const another = await startService()
  expect(await runGuide(node20 ?? "", another)).toEqual(GUIDE_SAYS)
  await another.stop()
})

test("the compiler accepts the guide with nothing but the package's own declarations", () => {
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
  const check = [...options, ...types, "guide.ts"]
  expect(execFileSync(join(MODULES, ".bin/tsc"), check, { cwd: folder }).toString()).toBe("")
})

test("the package depends on nothing and imports nothing, not even of Node", () => {
  const manifest = JSON.parse(readFileSync(join(published, "package.json"), "utf8"))
  expect(Object.keys(manifest).filter(name => /dependencies|scripts|private/i.test(name))).toEqual([])
  const { outputs } = JSON.parse(readFileSync(`${published}-meta.json`, "utf8"))
  expect(Object.values(outputs)).toMatchObject([{ entryPoint: "src/index.ts", imports: [] }])
})

test("the package's exports exist", () => {
  const { exports } = JSON.parse(readFileSync(join(published, "package.json"), "utf8"))
  for (const file of Object.values<string>(exports["."])) expect(existsSync(join(published, file))).toBe(true)
})

test("the package carries its licence and those of what it bundles", () => {
  expect(readdirSync(published)).toEqual(expect.arrayContaining(["LICENSE", "README.md", "THIRD-PARTY-LICENSES.txt"]))
  const others = readFileSync(join(published, "THIRD-PARTY-LICENSES.txt"), "utf8")
  for (const name of ["@noble/curves", "@noble/hashes", "valibot"]) expect(others).toContain(`${name} `)
})
