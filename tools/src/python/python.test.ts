/** The Python package: built as a wheel, installed into empty environments, checked and tested there. */
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
]
const DOOR_TESTS = ["tests/test_litellm.py", "tests/test_frameworks.py", "tests/test_observing.py"]
const VECTORS = "../libs/core/vectors"

const python = findPython()
if (python === undefined) console.log("Skipped: no Python of 3.11 or later with venv is here.")

describe.skipIf(python === undefined)("the Python package", () => {
  const place = pythonPlace(python ?? "")
  let wheel = ""

  beforeAll(() => {
    wheel = place.wheel()
  }, TIMEOUT_MS)

  test("its wheel works in an empty environment", { timeout: TIMEOUT_MS }, () => {
    const bin = place.environment("empty")
    runStep(join(bin, "pip"), "install", "--quiet", wheel)
    const bundle = `${VECTORS}/bundles/valid/ok-full.json`
    const printed = runStep(join(bin, "runseal-verify"), bundle, "--trust", `${VECTORS}/trust.json`)
    expect(printed.trimEnd().split("\n").at(-1)).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
    const typed = "import importlib.resources as r; print((r.files('runseal_client') / 'py.typed').is_file())"
    expect(runStep(join(bin, "python"), "-c", typed).trim()).toBe("True")
  })

  test("it is formatted, checked and typed, and its tests pass", { timeout: TIMEOUT_MS }, () => {
    const bin = place.environment("tests")
    runStep(join(bin, "pip"), "install", "--quiet", wheel, ...TOOLS)
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
    runStep(join(bin, "pip"), "install", "--quiet", wheel, "pytest==9.2.0", ...DOORS)
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
    expect(printed).toMatch(/\b18 passed in/)
  })
})
