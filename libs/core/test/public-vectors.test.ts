import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { canonicalize, parseCanonical, parseStrictJson } from "@runseal/canonical"
import { parseTrust } from "@runseal/log/trust/trust-document"
import { describe, expect, test } from "vitest"
import { list, presence, present, readJson, readText, walk } from "../../log/test/vectors.ts"
import { isUnreadable, verifyText } from "../src/verify/document.ts"

// No published vector is passed over: a folder or file that no test reads fails here.

const testText = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), "utf8")

/** Each folder of vectors, and the test that judges what is in it. */
const READERS: Readonly<Record<string, string>> = {
  "json-canonicalization": "libs/canonical/src/canonicalize.test.ts",
  merkle: "libs/log/test/merkle-vectors.test.ts",
  "signed-note": "libs/log/test/signed-note-vectors.test.ts",
  "sigstore-bundles": "libs/log/test/sigstore-bundles.test.ts",
}

describe.skipIf(!present(""))(`public vectors${presence("")}`, () => {
  test("are each read by a test", () => {
    expect(list("").filter(name => !Object.hasOwn(READERS, name) && !name.includes("."))).toEqual([])
    for (const [folder, path] of Object.entries(READERS)) expect(testText(path)).toContain(folder)
  })

  test("every Sigstore bundle and trusted root is named in the test that judges it", () => {
    const text = testText(READERS["sigstore-bundles"] ?? "")
    const names = list("sigstore-bundles").flatMap(name =>
      name === "_trusted-roots" ? list(`sigstore-bundles/${name}`) : [name],
    )
    expect(names.filter(name => !text.includes(name))).toEqual([])
  })

  test("every Merkle probe is of one of the two kinds that are judged", () => {
    const probes = walk("merkle")
    expect(probes.length).toBe(196)
    expect(probes.filter(path => !/^merkle\/(?:inclusion|consistency)\//.test(path))).toEqual([])
    const wrong = probes.filter(path => readJson<{ wantErr: boolean }>(path).wantErr)
    expect(wrong.length).toBeGreaterThan(100)
  })

  test("every signed note says whether it is valid", () => {
    const vectors = readJson<Readonly<Record<string, readonly unknown[]>>>("signed-note/note-vectors.json")
    expect(
      Object.keys(vectors)
        .filter(key => Array.isArray(vectors[key]))
        .sort(),
    ).toEqual(["badVkeys", "notes"])
  })

  test("every JCS input has its output, in bytes and in hex, and the quick reader takes each output of ours", () => {
    for (const name of list("json-canonicalization/input")) {
      const output = readText(`json-canonicalization/output/${name}`)
      const hex = readText(`json-canonicalization/outhex/${name.replace(".json", ".txt")}`).replaceAll(/\s/g, "")
      expect(Buffer.from(output).toString("hex")).toBe(hex)
      const canonical = name === "values.json" ? undefined : parseStrictJson(output)
      expect(parseCanonical(output)).toEqual(canonical)
      if (canonical !== undefined) expect(canonicalize(canonical)).toBe(output)
    }
  })

  test("no document of others is taken for one of ours, nor their roots for a trust document", () => {
    for (const path of ["sigstore-bundles", "merkle", "signed-note", "json-canonicalization"].flatMap(walk)) {
      const text = readText(path)
      expect(isUnreadable(verifyText(text, []))).toBe(true)
      const value = strict(text)
      if (value !== undefined) expect(parseTrust(value)).toHaveProperty("problem")
    }
  })
})

function strict(text: string): ReturnType<typeof parseStrictJson> | undefined {
  try {
    return parseStrictJson(text)
  } catch {
    return undefined
  }
}
