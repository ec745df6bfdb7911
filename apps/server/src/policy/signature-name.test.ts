import { expect, test } from "vitest"
import { compileSignatureLibrary } from "./signature-library.ts"
import { signatureName } from "./signature-name.ts"

test("a signature has a name in the shipped library only under that library's hash", () => {
  const { library_hash } = compileSignatureLibrary()
  expect(signatureName(library_hash, "MCD-DA-001")).toEqual({
    title: "Log4Shell lookup",
    description: "A call or command that runs code or takes over a system.",
    reference: "CVE-2021-44228",
  })
  expect(signatureName(library_hash, "MCD-DA-999")).toBeUndefined()
  expect(signatureName("0".repeat(64), "MCD-DA-001")).toBeUndefined()
})
