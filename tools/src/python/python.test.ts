/** The Python distributions: built as wheels, installed into empty environments, checked and tested there. */
import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { findPython, PYTHON_FOLDER, pythonPlace, runStep } from "./python-place.ts"

const TIMEOUT_MS = 1_800_000
/** What the tests of the package need besides it. */
const TOOLS = ["pytest==9.2.0", "ruff==0.17.6", "mypy==2.4.1"]
/** What its callbacks are tested with. */
const DOORS = [
  "litellm[proxy]==1.106.1",
  "langchain==1.4.7",
  "langchain-openai==1.7.3",
  "langgraph==1.2.22",
  "openai-agents==0.20.0",
  "opentelemetry-exporter-otlp-proto-http==1.45.2",
  "openinference-instrumentation-openai==0.1.66",
  "openinference-instrumentation-langchain==0.1.80",
  "opentelemetry-instrumentation-openai==0.62.4",
  "opentelemetry-instrumentation-langchain==0.62.4",
]
const DOOR_TESTS = [
  "asked_calls",
  "litellm",
  "frameworks",
  "observing",
  "permitted_requests",
  "sealed_members",
  "sealed_tools",
  "traces",
].map(name => `tests/test_${name}.py`)
const VECTORS = "../libs/core/vectors"
/** Of the thousands of modules those that are imported are compiled, later: see runStep. */
const INSTALL = ["install", "--quiet", "--no-compile"]

const python = findPython()
if (python === undefined) console.log("Skipped: no Python of 3.11 or later with venv is here.")

describe.skipIf(python === undefined)("the Python distributions", () => {
  const place = pythonPlace(python ?? "")
  const typed = (name: string) => `import importlib.resources as r; print((r.files('${name}') / 'py.typed').is_file())`
  let client = ""
  let verifier = ""

  beforeAll(() => {
    client = place.wheel(".")
    verifier = place.wheel("./verifier")
  }, TIMEOUT_MS)

  test("the verifier works alone in an empty environment", { timeout: TIMEOUT_MS }, () => {
    const bin = place.environment("verifier")
    runStep(join(bin, "pip"), ...INSTALL, verifier)
    expect(runStep(join(bin, "pip"), "list", "--format=freeze")).not.toMatch(/^(runseal-client|httpx|pydantic)=/m)
    const bundle = `${VECTORS}/bundles/valid/ok-full.json`
    const printed = runStep(join(bin, "runseal-verify"), bundle, "--trust", `${VECTORS}/trust.json`)
    expect(printed.trimEnd().split("\n").at(-1)).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
    expect(runStep(join(bin, "python"), "-c", typed("runseal_verify")).trim()).toBe("True")
  })

  test("the client works without the verifier and without cryptography", { timeout: TIMEOUT_MS }, () => {
    const bin = place.environment("client")
    runStep(join(bin, "pip"), ...INSTALL, client)
    expect(runStep(join(bin, "pip"), "list", "--format=freeze")).not.toMatch(/^(cryptography|runseal-verify)=/m)
    const used = "from runseal_client import AsyncRunseal, Runseal, sealed; import runseal_client.spool"
    runStep(join(bin, "python"), "-c", used)
    expect(() => runStep(join(bin, "python"), "-c", "from runseal_client import verify_permit")).toThrow(
      "install runseal-client with its extra: runseal-client[permit]",
    )
    expect(runStep(join(bin, "python"), "-c", typed("runseal_client")).trim()).toBe("True")
  })

  test("it is formatted, checked and typed, and its tests pass", { timeout: TIMEOUT_MS }, () => {
    const bin = place.environment("tests")
    runStep(join(bin, "pip"), ...INSTALL, `${client}[permit]`, verifier, ...TOOLS)
    runStep(join(bin, "ruff"), "format", "--check", ".")
    runStep(join(bin, "ruff"), "check", ".")
    runStep(join(bin, "mypy"), "--no-incremental")
    const printed = runStep(
      join(bin, "pytest"),
      "-rs",
      "-o",
      "pythonpath=tests",
      "-p",
      "no:cacheprovider",
      PYTHON_FOLDER,
    )
    console.log(printed.trimEnd().split("\n").slice(-12).join("\n"))
    expect(printed).toMatch(/\d+ passed/)
  })

  test("its callbacks work with the LiteLLM proxy, LangChain, LangGraph and OpenAI Agents", {
    timeout: TIMEOUT_MS,
  }, () => {
    const bin = place.environment("doors")
    runStep(join(bin, "pip"), ...INSTALL, client, "pytest==9.2.0", ...DOORS)
    const printed = runStep(
      join(bin, "pytest"),
      "-rs",
      "-o",
      "pythonpath=tests",
      "-p",
      "no:cacheprovider",
      ...DOOR_TESTS,
    )
    console.log(printed.trimEnd().split("\n").slice(-5).join("\n"))
    expect(printed).toMatch(/\b59 passed in/)
  })
})
