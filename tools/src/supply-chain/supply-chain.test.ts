/** What is installed is what the lock file names, whole, from a registry alone; little of it runs, and less runs while it is installed. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { isInstalled, type LockedPackage, nameAt, ROOT, readLockfile, runtimePackages } from "./lockfile.ts"
import { PUBLISHED, sbomOf } from "./sbom.ts"

const lockfile = readLockfile()
const all = Object.entries(lockfile)
const installed = all.filter(([place, { link }]) => isInstalled(place) && link !== true)
const places = (wrong: (one: LockedPackage) => boolean): readonly string[] =>
  installed.filter(([, one]) => wrong(one)).map(([place]) => place)

describe("every package of the lock file", () => {
  test("is named with the SHA-512 of what is installed", () => {
    expect(installed.length).toBeGreaterThan(200)
    expect(places(({ integrity = "" }) => !/^sha512-[\w+/]{86}==$/.test(integrity))).toEqual([])
  })

  test("comes from whatever registry is configured: from no address, repository or file of its own", () => {
    expect(places(({ resolved }) => resolved !== undefined)).toEqual([])
    for (const [place, { link, resolved }] of all.filter(([, one]) => one.link === true)) {
      expect(place).toMatch(/^node_modules\/@runseal\//)
      expect({ link, resolved }).toEqual({
        link: true,
        resolved: expect.stringMatching(/^(?:apps|examples|libs)\/|^(?:lab|tools)$/),
      })
    }
  })

  test("has a licence that permits what we do with it, those of what runs among them", () => {
    const permissive = [
      "MIT",
      "ISC",
      "Apache-2.0",
      "BSD-2-Clause",
      "BSD-3-Clause",
      "(AFL-2.1 OR BSD-3-Clause)",
      "0BSD",
      "Unlicense",
      "MIT AND OFL-1.1",
      "OFL-1.1",
    ]
    // Its own permissive terms: the Bitstream Vera licence and public domain.
    const runs = new Set([...permissive, "SEE LICENSE IN README.md AND LICENSE"])
    // Servers of the Model Context Protocol that doors are tested with: MIT and Apache-2.0, by parts.
    const tested = ["SEE LICENSE IN LICENSE", "(MIT OR GPL-3.0-or-later)", "(MIT AND Zlib)"]
    const builds = new Set([...runs, ...tested, "MIT OR Apache-2.0", "MPL-2.0", "BlueOak-1.0.0", "Python-2.0"])
    expect(places(({ license = "none", dev }) => dev !== true && !runs.has(license))).toEqual([])
    expect(places(({ license = "none" }) => !builds.has(license))).toEqual([])
  })
})

describe("what we ask for", () => {
  const workspaces = all.filter(([place]) => !isInstalled(place))

  test("is asked for in one version", () => {
    for (const [place, { dependencies = {}, devDependencies = {}, optionalDependencies = {} }] of workspaces)
      for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }))
        if (!name.startsWith("@runseal/")) expect(version, `${place}: ${name}`).toMatch(/^\d+\.\d+\.\d+$/)
  })

  test.each([
    ["libs/canonical", ["@noble/hashes"]],
    ["libs/log", ["@noble/ciphers", "@noble/curves", "@noble/hashes", "@noble/post-quantum", "valibot"]],
    ["libs/core", ["@noble/ciphers", "@noble/curves", "@noble/hashes", "@noble/post-quantum", "valibot"]],
    ["libs/permit", ["@noble/ciphers", "@noble/curves", "@noble/hashes", "@noble/post-quantum", "jose", "valibot"]],
    // The table of endpoints comes with what writes its OpenAPI document, which no client loads.
    [
      "libs/sdk",
      [
        "@noble/ciphers",
        "@noble/curves",
        "@noble/hashes",
        "@noble/post-quantum",
        "@valibot/to-json-schema",
        "jose",
        "valibot",
      ],
    ],
    // The policy engine is an optional peer of the published package: `--decided-by` alone loads it.
    [
      "apps/verifier-cli",
      [
        "@cedar-policy/cedar-wasm",
        ...["@noble/ciphers", "@noble/curves", "@noble/hashes", "@noble/post-quantum", "commander", "valibot"],
      ],
    ],
  ])("%s is made of itself and %j", (workspace, packages) => {
    expect(runtimePackages(lockfile, workspace)).toEqual(packages)
  })
})

describe("an install", () => {
  const { allowScripts, scarfSettings } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))
  const npmrc = readFileSync(join(ROOT, ".npmrc"), "utf8").split("\n")

  test("runs the script of one package, and every package that has one is named", () => {
    const withScripts = new Set(places(({ hasInstallScript }) => hasInstallScript === true).map(nameAt))
    expect(Object.keys(allowScripts).toSorted()).toEqual([...withScripts].sort())
    expect(Object.keys(allowScripts).filter(name => allowScripts[name] === true)).toEqual(["node"])
  })

  test("tells nobody that it happened, also by an npm that knows no list of scripts", () => {
    expect(scarfSettings).toEqual({ enabled: false })
  })

  test("takes nothing but versions of a registry, and what is added is added in one version", () => {
    for (const line of ["allow-git=none", "allow-remote=none", "save-exact=true"]) expect(npmrc).toContain(line)
  })

  test("on a clean machine is that of the lock file", () => {
    const script = readFileSync(join(ROOT, ".ci/run"), "utf8")
    expect(script).toMatch(/^npm ci$/m)
    // Programs of others that doors are tested with are installed into a folder of their own.
    expect(script.replace('npm install --prefix "$others"', "")).not.toMatch(/npm (?:install|i|update)\b/)
  })
})

describe("npm run sbom", () => {
  test.each(PUBLISHED)(
    "%s: names every package it runs with, each with its version, licence and hash, in one way",
    name => {
      const sbom = sbomOf(name)
      const workspace = all.find(([place, one]) => one.name === name && !isInstalled(place))?.[0] ?? ""
      const [own, others] = [sbom.components, sbom.components].map((components, i) =>
        components.filter(one => one.name.startsWith("@runseal/") === (i === 0)),
      )
      expect(sbom.bomFormat).toBe("CycloneDX")
      expect(sbom.metadata.component).toMatchObject({ name, version: "1.0.0" })
      const expected = runtimePackages(lockfile, workspace)
      expect([...new Set(others?.map(one => one.name))].sort()).toEqual(expected)
      for (const one of others ?? [])
        expect(one).toMatchObject({
          hashes: [{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
          licenses: [expect.anything()],
        })
      for (const one of own ?? []) expect(one.version).toBe("1.0.0")
      expect(sbomOf(name)).toEqual(sbom)
      expect(JSON.stringify(sbom)).not.toMatch(/serialNumber|timestamp/)
    },
  )

  test("takes no option for a folder", () => {
    const cwd = mkdtempSync(join(tmpdir(), "runseal-sbom-"))
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, "tools/src/supply-chain/sbom.ts"), "--help"], {
      cwd,
      encoding: "utf8",
    })
    expect({ status, stderr }).toEqual({ status: 1, stderr: "sbom: nothing but one folder is accepted\n" })
    expect(readdirSync(cwd)).toEqual([])
    rmSync(cwd, { recursive: true })
  })
})

test("a package of which only the files come with ours is named, and what it would install besides is not", () => {
  const names = sbomOf("@runseal/server").components.map(({ name }) => name)
  expect(names).toContain("swagger-ui-dist")
  expect(names).not.toContain("@scarf/scarf")
})
