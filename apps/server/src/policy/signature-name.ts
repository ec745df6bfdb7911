/** What people call a shipped signature. Reads the library document alone and compiles no pattern. */
import { digest } from "@runseal/canonical"
import { MCD_CATEGORIES, type McdCategory } from "@runseal/core/vocabulary/decision-codes"
import library from "./signature-library.json" with { type: "json" }

export type SignatureName = {
  readonly title: string
  /** What signatures of its category find. */
  readonly description: string
  /** Public: CVE, CWE, OWASP, MITRE ATT&CK or ATLAS. */
  readonly reference: string
}

const FINDS: Readonly<Record<McdCategory, string>> = {
  prompt_injection: "Text that tries to give a model other instructions.",
  dangerous_api: "A call or command that runs code or takes over a system.",
  supply_chain: "A package, an installation or a download that brings in foreign code.",
  filesystem_escape: "A path that leaves its folder or reaches for files of the system.",
}

/** SHA-256 of the shipped library: computed once, since a list of runs asks for many names. */
let shippedHash: string | undefined

/** Undefined when the record was made with a library of another hash. */
export function signatureName(libraryHash: string, id: string): SignatureName | undefined {
  const found = library.signatures.find(signature => signature.id === id)
  const category = MCD_CATEGORIES.find(each => each === found?.category)
  shippedHash ??= digest(library)
  if (found === undefined || category === undefined || shippedHash !== libraryHash) return undefined
  return { title: found.name, description: FINDS[category], reference: found.source }
}
