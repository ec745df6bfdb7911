/** A call of an endpoint in three languages, made of its operation in the OpenAPI document: with what each language has itself. */
import type { JsonValue } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"

type Place = {
  /** Address of the service, with a final slash. */
  readonly base: string
  readonly path: string
  readonly method: string
}

/** A call as a text. */
export type CallSample = { readonly language: "curl" | "TypeScript" | "Python"; readonly text: string }

/** @param operation of the OpenAPI document; without one there is no sample */
export function callSamples(operation: JsonValue | undefined, { base, path, method }: Place): readonly CallSample[] {
  if (!isObject(operation)) return []
  const call: Call = {
    address: `${base}${path.slice(1)}`,
    verb: method.toUpperCase(),
    keyed: Array.isArray(operation.security) && operation.security.length > 0,
    body: exampleOf(operation),
  }
  return [
    { language: "curl", text: inShell(call) },
    { language: "TypeScript", text: inTypeScript(call) },
    { language: "Python", text: inPython(call) },
  ]
}

type Call = {
  readonly address: string
  readonly verb: string
  /** Whether it needs a key. */
  readonly keyed: boolean
  readonly body: JsonValue | undefined
}

/** The first example of the body in JSON. */
function exampleOf(operation: { readonly [name: string]: JsonValue }): JsonValue | undefined {
  const content = isObject(operation.requestBody) ? operation.requestBody.content : undefined
  const json = isObject(content) ? content["application/json"] : undefined
  if (!isObject(json)) return undefined
  const [first] = isObject(json.examples) ? Object.values(json.examples) : []
  return isObject(first) ? first.value : (json.example ?? {})
}

const pretty = (value: JsonValue): string => JSON.stringify(value, undefined, 2)

function inShell({ address, verb, keyed, body }: Call): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
  return [
    `curl -X ${verb} ${quoted(address)}`,
    ...(keyed ? [`-H "X-Service-Key: $RUNSEAL_KEY"`] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(pretty(body))}`]),
  ].join(" \\\n  ")
}

function inTypeScript({ address, verb, keyed, body }: Call): string {
  const headers = [
    ...(keyed ? [`"X-Service-Key": process.env.RUNSEAL_KEY ?? ""`] : []),
    ...(body === undefined ? [] : [`"Content-Type": "application/json"`]),
  ]
  const options = [
    `method: "${verb}"`,
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(", ")} }`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${pretty(body).replaceAll("\n", "\n  ")})`]),
  ]
  return `const response = await fetch("${address}", {\n  ${options.join(",\n  ")},\n})\nconsole.log(response.status, await response.text())`
}

function inPython({ address, verb, keyed, body }: Call): string {
  const headers = [
    ...(keyed ? [`"X-Service-Key": os.environ["RUNSEAL_KEY"]`] : []),
    ...(body === undefined ? [] : [`"Content-Type": "application/json"`]),
  ]
  const parts = [
    `"${address}"`,
    `method="${verb}"`,
    ...(headers.length === 0 ? [] : [`headers={${headers.join(", ")}}`]),
    ...(body === undefined ? [] : ["data=BODY.encode()"]),
  ]
  return [
    `import ${keyed ? "os, " : ""}urllib.request`,
    ...(body === undefined ? [] : [`BODY = r'''${pretty(body)}'''`]),
    `request = urllib.request.Request(\n    ${parts.join(",\n    ")},\n)`,
    "with urllib.request.urlopen(request) as response:\n    print(response.status, response.read().decode())",
  ].join("\n")
}
