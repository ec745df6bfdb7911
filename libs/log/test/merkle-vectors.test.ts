import { decodeBase64 } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { verifyConsistency, verifyInclusion } from "../src/merkle/rfc6962.ts"
import { presence, present, readJson, walk } from "./vectors.ts"

interface InclusionVector {
  leafIdx: number
  treeSize: number
  root: string
  leafHash: string
  proof: string[] | null
  wantErr: boolean
}

interface ConsistencyVector {
  size1: number
  size2: number
  root1: string
  root2: string
  proof: string[] | null
  wantErr: boolean
}

const bytes = (base64: string): Uint8Array => decodeBase64(base64)!
const files = (kind: string): readonly string[] => (present("merkle") ? walk(`merkle/${kind}`) : [])

describe.skipIf(!present("merkle"))(`proof vectors of transparency-dev/merkle${presence("merkle")}`, () => {
  test("there are 196 of them", () => {
    expect(files("inclusion").length + files("consistency").length).toBe(196)
  })

  test.each(files("inclusion"))("%s", file => {
    const { leafIdx, treeSize, root, leafHash, proof, wantErr } = readJson<InclusionVector>(file)
    const verified = verifyInclusion({
      leafHash: bytes(leafHash),
      index: leafIdx,
      size: treeSize,
      root: bytes(root),
      proof: (proof ?? []).map(bytes),
    })
    expect(verified).toBe(!wantErr)
  })

  test.each(files("consistency"))("%s", file => {
    const { size1, size2, root1, root2, proof, wantErr } = readJson<ConsistencyVector>(file)
    const verified = verifyConsistency({
      size1,
      size2,
      root1: bytes(root1),
      root2: bytes(root2),
      proof: (proof ?? []).map(bytes),
    })
    expect(verified).toBe(!wantErr)
  })
})
