import { readFileSync } from "node:fs"
import { asJson } from "../fixtures/json-values.ts"
import { knownValues, mutations } from "../fixtures/mutations.ts"

/**
 * Writes changed documents for other verifiers: `node write-mutations.ts COUNT FILE…` prints about COUNT documents, one a line.
 * Each is one of the files with one value changed; the changes are spread evenly over all that the mutation tests know.
 */
const [count = "0", ...files] = process.argv.slice(2)
const documents = files.map(file => asJson(JSON.parse(readFileSync(file, "utf8"))))
const known = knownValues(documents)
const each = Math.ceil(Number(count) / documents.length)

for (const document of documents) {
  const total = [...mutations(document, known)].length
  const step = Math.max(1, Math.floor(total / each))
  let at = 0
  for (const { document: changed } of mutations(document, known)) {
    if (at % step === 0) process.stdout.write(`${JSON.stringify(changed)}\n`)
    at += 1
  }
}
