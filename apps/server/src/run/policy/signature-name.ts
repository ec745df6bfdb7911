/** What people call a shipped signature. Reads the library document alone and compiles no pattern. */
import { digest } from "@runseal/canonical"
import library from "./signature-library.json" with { type: "json" }

export type SignatureName = {
  readonly name: string
  /** A public reference: CVE, CWE, OWASP, MITRE ATT&CK or ATLAS. */
  readonly source: string
}

/** Name and source of a signature; undefined when the record was made with a library of another hash. */
export function signatureName(libraryHash: string, id: string): SignatureName | undefined {
  const found = library.signatures.find(signature => signature.id === id)
  return found === undefined || digest(library) !== libraryHash ? undefined : { name: found.name, source: found.source }
}
