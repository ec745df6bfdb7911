import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ENDPOINTS, SCHEMAS } from "./api-document.ts"
import { DOCUMENTS, HEADER_ARGUMENTS, IDEMPOTENCY_KEYS, METHOD_NAMES, NO_METHOD, SECRETS } from "./columns.ts"
import { madeFiles, PYTHON_API } from "./make-python-api.ts"

test("the types and calls of the Python client are those of the OpenAPI document: node tools/src/python-api/make-python-api.ts", () => {
  const made = madeFiles()
  const stored = readdirSync(PYTHON_API).filter(name => name.endsWith(".py"))
  expect(stored.toSorted()).toEqual(Object.keys(made).toSorted())
  for (const [name, text] of Object.entries(made)) expect(readFileSync(join(PYTHON_API, name), "utf8"), name).toBe(text)
})

test("what the columns name is in the document", () => {
  const operations = new Set(ENDPOINTS.map(({ operation }) => operation.operationId))
  const named = [METHOD_NAMES, NO_METHOD, IDEMPOTENCY_KEYS, HEADER_ARGUMENTS].flatMap(Object.keys)
  // The endpoints of a run's artifacts are one method.
  expect(named.filter(id => !operations.has(id))).toEqual(["admin_artifact"])
  expect([...DOCUMENTS, ...Object.keys(SECRETS)].filter(name => SCHEMAS[name] === undefined)).toEqual([])
})

test("every secret of an answer is never printed", () => {
  const { "answers.py": answers = "" } = madeFiles()
  const secrets = answers.split("\n").filter(line => /^ {4}(?:secret|csrf_token): /.test(line))
  expect(secrets.length).toBeGreaterThan(4)
  expect(secrets.filter(line => !line.includes("repr=False"))).toEqual([])
})

test("docs/python.md names every method", () => {
  const { "operations.py": operations = "" } = madeFiles()
  const methods = [...operations.matchAll(/^ {4}def (?!iter_)(\w+)/gm)].map(([, name]) => name ?? "")
  const [, section = ""] = readFileSync(join(PYTHON_API, "../../../../docs/python.md"), "utf8").split("### Methods\n")
  const table = (section.split("\n### ")[0] ?? "").split("\n").filter(line => line.startsWith("|"))
  const listed = table.flatMap(line => [...line.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? ""))
  expect(listed.toSorted()).toEqual([...methods, "permit"].toSorted())
})
