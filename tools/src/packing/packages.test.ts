/** What is published, installed from its packed files on a machine that has nothing else. docs/release.md. */
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { isBuiltin, stripTypeScriptTypes } from "node:module"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { build } from "esbuild"
import { chromium } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { ROOT, readLockfile } from "../supply-chain/lockfile.ts"
import { PUBLISHED } from "../supply-chain/sbom.ts"
import { referencesIn } from "./modules.ts"
import { manifestIn, type Packed, packAll, pathsIn, unpack } from "./pack.ts"
import { agentsTests } from "./test/agents-tests.ts"
import { type EmptyFolder, emptyFolder, node20 } from "./test/empty-folder.ts"
import { gatewayTests } from "./test/gateway-tests.ts"
import { hooksTests } from "./test/hooks-tests.ts"
import { type LocalRegistry, openRegistry } from "./test/local-registry.ts"
import { type PackedServer, startPackedServer } from "./test/packed-server.ts"

const SLOW_MS = 300_000
const TSC = join(ROOT, "node_modules/.bin/tsc")
const NAMES: readonly string[] = PUBLISHED.map(([name]) => name)

let place: string
let packed: readonly Packed[]
let registry: LocalRegistry
const folders: EmptyFolder[] = []
const empty = (node?: string): EmptyFolder => {
  const folder = emptyFolder(registry.url, node)
  folders.push(folder)
  return folder
}
const packedFile = (name: string): string => packed.find(({ manifest }) => manifest.name === name)?.file ?? ""
/** Where a package lies unpacked. */
const unpacked = (name: string): string => join(place, "unpacked", name)
const readPacked = (name: string, path: string): string => readFileSync(join(unpacked(name), path), "utf8")

let serverFolder: EmptyFolder
let server: PackedServer
/** A record of the running server, and whom to believe about it. */
let bundle: string
let trust: string

beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), "runseal-packed-"))
  packed = await packAll(place)
  for (const { manifest, file } of packed) {
    mkdirSync(unpacked(manifest.name), { recursive: true })
    unpack(file, unpacked(manifest.name))
  }
  registry = await openRegistry(packed)
  serverFolder = empty()
  await serverFolder.install(packedFile("@runseal/server"))
  // A package in somebody's repository is not at that repository's commit.
  await serverFolder.run("git", "init", "-q")
  await serverFolder.run(
    "git",
    ...["-c", "user.name=a", "-c", "user.email=a@b"],
    "commit",
    "-q",
    "--allow-empty",
    "-m",
    "a",
  )
  server = await startPackedServer(serverFolder, "npx", "@runseal/server")
  const { status } = await ask("/execute", readFileSync(join(ROOT, "examples/first-run.json"), "utf8"))
  expect(status).toBe(200)
  bundle = await (await ask("/runs/1/artifacts")).text()
  trust = await (await ask("/.well-known/runseal-trust.json")).text()
}, SLOW_MS)
afterAll(async () => {
  await server?.stop()
  await registry?.stop()
  for (const folder of folders) folder.remove()
  rmSync(place, { recursive: true })
}, SLOW_MS)

const ask = (path: string, body?: string): Promise<Response> =>
  fetch(
    `${server.url}${path}`,
    body === undefined ? {} : { method: "POST", body, headers: { "content-type": "application/json" } },
  )

test("what is packed is what has a bill of materials", () => {
  expect(packed.map(({ manifest }) => manifest.name)).toEqual(NAMES)
})

describe.each(NAMES)("%s", name => {
  const paths = (): readonly string[] => pathsIn(unpacked(name))

  test("has its licence and a README that leads nowhere outside it", () => {
    expect(paths()).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]))
    expect(readPacked(name, "README.md")).not.toMatch(/\]\((?!https?:|#)/)
  })

  test("has no test, no source, no map and no path of the machine it was made on", () => {
    const unwanted = /\.test\.|(?<!\.d)\.[cm]?ts$|\.map$|(?:^|\/)(?:test|spec|vectors|node_modules)\//
    expect(paths().filter(path => unwanted.test(path))).toEqual([])
    // Swagger UI's own files are as they were published.
    for (const path of paths().filter(one => !one.includes("/swagger-ui/")))
      for (const own of [ROOT, join(tmpdir(), "runseal"), "sourceMappingURL="])
        expect(readPacked(name, path).includes(own), `${path}: ${own}`).toBe(false)
  })

  test("asks for others in one version, runs nothing when it is installed and says which Node it needs", () => {
    const manifest = manifestIn(unpacked(name))
    const lockfile = readLockfile()
    for (const [dependency, version] of Object.entries(manifest.dependencies ?? {}))
      if (!NAMES.includes(dependency)) expect(lockfile[`node_modules/${dependency}`]?.version, dependency).toBe(version)
    for (const absent of ["scripts", "devDependencies", "private", "publishConfig", "workspaces"])
      expect(manifest).not.toHaveProperty(absent)
    const engines = { node: expect.stringMatching(/^>=\d/) }
    expect(manifest).toMatchObject({ license: "Apache-2.0", type: "module", engines })
  })

  test("names nothing but its own files, Node's modules and what it depends on, and all it depends on", () => {
    const { dependencies = {}, peerDependencies = {} } = manifestIn(unpacked(name))
    const known = Object.keys({ ...dependencies, ...peerDependencies })
    const code = paths().filter(path => /^(?!.*\/swagger-ui\/).*\.(?:js|d\.ts)$/.test(path))
    const foreign = (path: string): readonly string[] =>
      referencesIn(readPacked(name, path)).filter(one => !/^[.#]/.test(one) && !isBuiltin(one))
    for (const path of code)
      for (const named of foreign(path)) expect(known, path).toContain(/^(?:@[^/]+\/)?[^/]+/.exec(named)?.[0])
    const all = code.map(path => readPacked(name, path)).join("\n")
    for (const dependency of Object.keys(dependencies)) expect(all).toContain(`"${dependency}`)
  })
})

test(
  "two makings give the same bytes, whatever the machine's umask",
  async () => {
    const again = join(place, "again")
    const main = join(ROOT, "tools/src/packing/main.ts")
    await promisify(execFile)("/bin/sh", ["-c", 'umask 077 && exec "$0" "$1" "$2"', process.execPath, main, again])
    for (const { file } of packed)
      expect(readFileSync(join(again, basename(file))).equals(readFileSync(file)), file).toBe(true)
  },
  SLOW_MS,
)

describe("npx @runseal/server in an empty folder", () => {
  test("seals runs that name no commit of the repository around it", async () => {
    const theirs = (await serverFolder.run("git", "rev-parse", "HEAD")).stdout.trim()
    expect(theirs).toMatch(/^[0-9a-f]{40}$/)
    expect(await (await ask("/version")).text()).not.toContain(theirs)
    expect(bundle).not.toContain(theirs)
  })

  test("says the version of its package", async () => {
    const { version } = manifestIn(unpacked("@runseal/server"))
    expect(JSON.parse(await (await ask("/version")).text())).toMatchObject({ version })
    expect(await serverFolder.run("npx", "runseal-server", "--version")).toMatchObject({
      code: 0,
      stdout: `${version}\n`,
    })
  })

  test.each([
    ["/verify", "text/html; charset=utf-8"],
    ["/docs", "text/html; charset=utf-8"],
    ["/docs/swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
    ["/openapi.json", "application/json"],
    ["/runs/1/report.pdf?format=comprehensive", "application/pdf"],
    ["/ready", "application/json"],
  ])("serves %s", async (path, type) => {
    const answer = await ask(path)
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, type])
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(10)
  })

  test("ran no script of anybody while it was installed", () => {
    const { packages } = JSON.parse(readFileSync(join(serverFolder.path, "package-lock.json"), "utf8"))
    expect(Object.keys(packages)).toContain("node_modules/hono")
    expect(JSON.stringify(packages)).not.toContain("hasInstallScript")
  })

  test.skipIf(node20 === undefined)("says on a Node that is too old which one it needs", async () => {
    const { code, stdout, stderr } = await serverFolder.run(node20 ?? "", "node_modules/.bin/runseal-server")
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^runseal: this is Node 20\.[\d.]+; the service needs Node 24\.15 or later$/m)
  })
})

describe.each([
  ["this Node", process.execPath],
  ["Node 20", node20],
])("@runseal/verifier on %s", (_, node) => {
  test.skipIf(node === undefined)(
    "installs as one package and verifies",
    async () => {
      const folder = empty(node)
      await folder.install(packedFile("@runseal/verifier"))
      expect(readdirSync(join(folder.path, "node_modules/@runseal"))).toEqual(["verifier"])
      expect(readdirSync(join(folder.path, "node_modules")).filter(name => !name.startsWith("."))).toEqual(["@runseal"])
      folder.write("bundle.json", bundle)
      folder.write("forged.json", bundle.replace('"actor_id":"grace"', '"actor_id":"brace"'))
      folder.write("trust.json", trust)
      expect(await folder.run("npx", "verifier", "--version")).toMatchObject({ code: 0, stdout: "1.0.0\n" })
      const verified = await folder.run("npx", "verifier", "bundle.json", "--trust", "trust.json")
      expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining("VERIFIED AND ANCHORED") })
      expect((await folder.run("npx", "verifier", "forged.json", "--trust", "trust.json")).code).toBe(1)
    },
    SLOW_MS,
  )
})

/** A consumer's compiler, which believes no declaration unseen. */
const compileStrictly = (folder: EmptyFolder, module: "nodenext" | "bundler", lib: string, file: string) =>
  folder.run(
    process.execPath,
    TSC,
    "--noEmit",
    "--strict",
    "--exactOptionalPropertyTypes",
    "--noUncheckedIndexedAccess",
    "--skipLibCheck",
    "false",
    "--module",
    module === "bundler" ? "esnext" : module,
    "--moduleResolution",
    module,
    "--target",
    "es2023",
    "--lib",
    lib,
    "--types",
    "",
    file,
  )

const CHROMIUM = "/usr/bin/chromium"
const readmeProgram = (library: string): string =>
  /```ts\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, library, "README.md"), "utf8"))?.[1] ?? ""

describe("@runseal/log", () => {
  let folder: EmptyFolder
  beforeAll(async () => {
    folder = empty()
    await folder.install(packedFile("@runseal/log"))
    folder.write("program.mjs", readmeProgram("libs/log"))
  }, SLOW_MS)

  test("is installed alone, without another package of ours", () => {
    expect(readdirSync(join(folder.path, "node_modules/@runseal"))).toEqual(["log"])
  })

  test.each([
    ["this Node", process.execPath],
    ["Node 20", node20],
  ])("runs the program of its README on %s", async (_, node) => {
    if (node !== undefined) expect(await folder.run(node, "program.mjs")).toMatchObject({ code: 0, stdout: "true\n" })
  })

  test.each(["nodenext", "bundler"] as const)(
    "every module compiles for a strict consumer with %s resolution",
    async module => {
      const modules = pathsIn(unpacked("@runseal/log")).flatMap(
        path => /^dist\/log\/((?:(?!\.node).)*)\.d\.ts$/.exec(path)?.[1] ?? [],
      )
      expect(modules.length).toBeGreaterThan(30)
      const names = ["canonical", ...modules].map(path => `@runseal/log/${path}`)
      folder.write("all.mts", names.map((name, i) => `import * as m${i} from "${name}"\nvoid m${i}\n`).join(""))
      expect(await compileStrictly(folder, module, "es2023,dom", "all.mts")).toMatchObject({ stdout: "", code: 0 })
    },
  )

  test("is bundled for browsers without a module of Node", async () => {
    folder.write("page.ts", 'export { verifyNote } from "@runseal/log/notes/verified-note"\n')
    expect(await bundledImports(folder, "page.ts")).toEqual([])
  })
})

describe("@runseal/core", () => {
  let folder: EmptyFolder
  beforeAll(async () => {
    folder = empty()
    await folder.install(packedFile("@runseal/core"))
    folder.write(
      "package.json",
      JSON.stringify({ ...JSON.parse(readFileSync(join(folder.path, "package.json"), "utf8")), type: "module" }),
    )
    folder.write("bundle.json", bundle)
    folder.write("trust.json", trust)
  }, SLOW_MS)

  test("is installed alone, without another package of ours", () => {
    expect(readdirSync(join(folder.path, "node_modules/@runseal"))).toEqual(["core"])
  })

  test.each([
    ["this Node", process.execPath],
    ["Node 20", node20],
  ])("runs the program of its README on %s", async (_, node) => {
    folder.write("program.mjs", readmeProgram("libs/core"))
    if (node !== undefined)
      expect(await folder.run(node, "program.mjs")).toMatchObject({
        code: 0,
        stdout: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED\n",
      })
  })

  test.each(["nodenext", "bundler"] as const)(
    "every module compiles for a strict consumer with %s resolution",
    async module => {
      const modules = pathsIn(unpacked("@runseal/core")).flatMap(
        path => /^dist\/core\/((?:(?!\.node).)*)\.d\.ts$/.exec(path)?.[1] ?? [],
      )
      expect(modules.length).toBeGreaterThan(80)
      const names = ["canonical", ...modules].map(path => `@runseal/core/${path}`)
      folder.write("all.ts", names.map((name, i) => `import * as m${i} from "${name}"\nvoid m${i}\n`).join(""))
      expect(await compileStrictly(folder, module, "es2023,dom", "all.ts")).toMatchObject({ stdout: "", code: 0 })
    },
  )

  test("is bundled for browsers without a module of Node", async () => {
    folder.write("all.ts", 'export { verifyText } from "@runseal/core/verify/document"\n')
    expect(await bundledImports(folder, "all.ts")).toEqual([])
  })

  test.skipIf(!existsSync(CHROMIUM))(`verifies a record in ${CHROMIUM}`, async () => {
    const [, program = ""] = /^(import \{ parseStrict[\s\S]*?)^const report/m.exec(readmeProgram("libs/core")) ?? []
    const read = (text: string): string => `new TextEncoder().encode(${JSON.stringify(text)})`
    const body = program.replace(/await readFile\("trust.json", "utf8"\)/, JSON.stringify(trust))
    folder.write("page.ts", `${body}document.title = JSON.stringify(verifyText(${read(bundle)}, [trust]))\n`)
    expect(await titleOfPage(folder)).toMatchObject({ verdict: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED" })
  })
})

const BUNDLING = { bundle: true, write: false, metafile: true, platform: "browser", logLevel: "silent" } as const

/** The JSON that the program page.ts, bundled for browsers, writes into the title of its page in Chromium. */
async function titleOfPage(folder: EmptyFolder): Promise<unknown> {
  const { outputFiles } = await build({
    ...BUNDLING,
    format: "iife",
    absWorkingDir: folder.path,
    entryPoints: ["page.ts"],
  })
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] })
  try {
    const page = await browser.newPage()
    await page.addScriptTag({ content: outputFiles[0]?.text ?? "" })
    await page.waitForFunction(() => document.title !== "")
    return JSON.parse(await page.title())
  } finally {
    await browser.close()
  }
}

/** What a browser's bundle of a file would still have to import. */
async function bundledImports(folder: EmptyFolder, file: string): Promise<readonly string[]> {
  const { metafile } = await build({ ...BUNDLING, format: "esm", absWorkingDir: folder.path, entryPoints: [file] })
  return Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
}

describe("@runseal/sdk", () => {
  let folder: EmptyFolder
  const PROGRAM = `import { createClient, isUnreadable, verifyBundle } from "@runseal/sdk"
export async function check(baseUrl: string, trust: string): Promise<string> {
  const { text } = await createClient({ baseUrl }).bundle(1)
  const report = verifyBundle(text, [trust])
  return isUnreadable(report) ? report.unreadable : report.verdict
}
`
  beforeAll(async () => {
    folder = empty()
    await folder.install(packedFile("@runseal/sdk"))
    folder.write("check.mts", PROGRAM)
  }, SLOW_MS)

  test("depends on nothing", () => {
    expect(readdirSync(join(folder.path, "node_modules")).filter(name => !name.startsWith("."))).toEqual(["@runseal"])
    expect(readdirSync(join(folder.path, "node_modules/@runseal"))).toEqual(["sdk"])
  })

  test.each(["nodenext", "bundler"] as const)("compiles for a strict consumer with %s resolution", async module => {
    expect(await compileStrictly(folder, module, "es2023,dom,dom.asynciterable", "check.mts")).toMatchObject({
      stdout: "",
      code: 0,
    })
  })

  test.each([
    ["this Node", process.execPath],
    ["Node 20", node20],
  ])("speaks with a packed server on %s", async (_, node) => {
    const script = stripTypeScriptTypes(PROGRAM)
    folder.write("check.mjs", `${script}console.log(await check(...process.argv.slice(2)))\n`)
    if (node !== undefined)
      expect(await folder.run(node, "check.mjs", server.url, trust)).toMatchObject({
        code: 0,
        stdout: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED\n",
      })
  })

  test("is bundled for browsers without a module of Node", async () => {
    expect(await bundledImports(folder, "check.mts")).toEqual([])
  })

  test.skipIf(!existsSync(CHROMIUM))(`has no environment and no paths in ${CHROMIUM}, and hashes a File`, async () => {
    folder.write(
      "page.ts",
      `import { createClient, hashFile } from "@runseal/sdk"
const messageOf = async (work: () => unknown) => { try { return await work() } catch (error) { return String(error) } }
const works = [() => createClient(), () => hashFile("agent.tgz"), () => hashFile(new File(["abc"], "agent.tgz"))]
Promise.all(works.map(messageOf)).then(shown => { document.title = JSON.stringify(shown) })
`,
    )
    expect(await titleOfPage(folder)).toEqual([
      "InvalidArgumentError: baseUrl is missing: pass it, or set RUNSEAL_URL.",
      expect.stringMatching(/^UnsupportedOperationError: A file needs Node/),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ])
  })
})

describe("@runseal/permit", () => {
  let folder: EmptyFolder
  let permitId: string
  beforeAll(async () => {
    folder = empty()
    await folder.install(packedFile("@runseal/permit"))
    const payload = '{"amount":"120.00"}'
    const identity = {
      program_id: "3f".repeat(32),
      route_id: "payments/transfer",
      registry_record_hash: "b".repeat(64),
    }
    const request = { ...identity, payload, audience: "payments", reserve_tokens: 0 }
    const { permit, permit_id } = JSON.parse(await (await ask("/permits", JSON.stringify(request))).text())
    permitId = permit_id
    const { log_origin } = JSON.parse(await (await ask("/version")).text())
    folder.write("permit.txt", permit)
    folder.write("order.json", payload)
    folder.write("trust.json", trust)
    folder.write("program.mjs", readmeProgram("libs/permit").replace("runseal.local - 4127", log_origin))
  }, SLOW_MS)

  test("is installed alone, without another package of ours", () => {
    expect(readdirSync(join(folder.path, "node_modules/@runseal"))).toEqual(["permit"])
  })

  test.each([
    ["this Node", process.execPath],
    ["Node 20", node20],
  ])("runs the program of its README on %s", async (_, node) => {
    if (node !== undefined)
      expect(await folder.run(node, "program.mjs")).toMatchObject({ code: 0, stdout: `permitted: ${permitId}\n` })
  })

  test.each(["nodenext", "bundler"] as const)("compiles for a strict consumer with %s resolution", async module => {
    const names = ["", "/express", "/hono", "/sign-permit"].map(path => `@runseal/permit${path}`)
    folder.write("all.mts", names.map((name, i) => `import * as m${i} from "${name}"\nvoid m${i}\n`).join(""))
    expect(await compileStrictly(folder, module, "es2023,dom", "all.mts")).toMatchObject({ stdout: "", code: 0 })
  })

  test("is bundled for browsers without a module of Node", async () => {
    folder.write("page.ts", 'export { verifyPermit } from "@runseal/permit"\n')
    expect(await bundledImports(folder, "page.ts")).toEqual([])
  })
})

describe("@runseal/mcp in an empty folder", () => gatewayTests(empty, packedFile))
describe("@runseal/hooks in an empty folder", () => hooksTests(empty, packedFile, () => server.url))

describe("@runseal/agents in an empty folder", () => {
  const routes = async (): Promise<readonly string[]> => {
    const { runs }: { readonly runs: readonly { readonly route_id: string }[] } = await (
      await ask("/runs?limit=500")
    ).json()
    return runs.map(({ route_id }) => route_id)
  }
  agentsTests(empty, packedFile, () => server.url, routes)

  test.each(["nodenext", "bundler"] as const)("compiles for a strict consumer with %s resolution", async module => {
    const folder = empty()
    const frameworks = ["ai@7", "@langchain/core", "@openai/agents", "zod"]
    await folder.install(packedFile("@runseal/sdk"), packedFile("@runseal/agents"), ...frameworks)
    const names = ["ai-sdk", "claude-agent", "langchain", "openai-agents"].map(path => `@runseal/agents/${path}`)
    folder.write("all.mts", names.map((name, i) => `import * as m${i} from "${name}"\nvoid m${i}\n`).join(""))
    const { stdout } = await compileStrictly(folder, module, "es2023,dom,dom.asynciterable", "all.mts")
    // The frameworks' own declarations are not that strict.
    expect(stdout.split("\n").filter(line => /^(?:all\.mts|node_modules\/@runseal)/.test(line))).toEqual([])
  })
})

test(
  "SIGTERM stops the service, which goes on with the same records when it is started again",
  async () => {
    expect((await server.stop()).stdout).toContain('"msg":"stopped"')
    server = await startPackedServer(serverFolder, "node_modules/.bin/runseal-server")
    expect(await (await ask("/runs/1/artifacts")).text()).toBe(bundle)
    const { code, stdout } = await server.stop()
    expect(code).toBe(0)
    expect(stdout).toContain('"msg":"stopped"')
  },
  SLOW_MS,
)
