import { readFileSync, writeFileSync } from "node:fs"
import { basename, dirname } from "node:path"
import { asJson, isMembers } from "../fixtures/json-values.ts"
import { knownValues, mutations } from "../fixtures/mutations.ts"

const STDOUT = 1

/**
 * Writes changed documents for other verifiers: `node write-mutations.ts FILE…` prints a line for each, where it is changed and how, a tab, and
 * the document. Each is one of the files with one value changed. Of all that the mutation tests know there is each change of each value once
 * for each kind of document: not for each item of a list, and not for each file.
 */
const files = process.argv.slice(2)
const documents = files.map(file => ({ file, document: asJson(JSON.parse(readFileSync(file, "utf8"))) }))
const known = knownValues(documents.map(({ document }) => document))
const seen = new Set<string>()

for (const { file, document } of documents) {
  const kind = `${basename(dirname(dirname(file)))} ${isMembers(document) ? document.kind : ""}`
  for (const { pointer, change, document: changed } of mutations(document, known)) {
    const done = `${kind} ${pointer.replace(/\/\d+(?=\/|$)/g, "/0")} ${change}`
    if (seen.has(done)) continue
    seen.add(done)
    // Hundreds of megabytes: each line waits for the reader.
    writeFileSync(STDOUT, `${JSON.stringify(`${basename(file)} ${pointer} ${change}`)}\t${JSON.stringify(changed)}\n`)
  }
}
