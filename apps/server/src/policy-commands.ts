/** `policy check FILE` and `policy test FILE CASES`: a policy tried without a service. docs/policy-and-review.md, "Tighten a policy without an accident". */
import { readFileSync } from "node:fs"
import { type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { loadPolicy } from "@runseal/policy/load-policy"
import { PolicyError, parsePolicyDocument } from "@runseal/policy/policy-document"
import { signatureScanOf } from "./boot.ts"
import type { PolicyCommand } from "./options/commands.ts"
import type { Config } from "./options/config.ts"
import { StartupError } from "./options/startup-error.ts"
import { testCases } from "./policy-cases.ts"
import { check } from "./policy-check.ts"
import { compileSignatureLibrary } from "./run/policy/signature-library.ts"
import type { PolicyOutput } from "./tried-run.ts"

/** @throws StartupError for a file that cannot be used */
export function doWithPolicy(config: Config, command: PolicyCommand): PolicyOutput {
  const json = readJson(command.file)
  const { document, policy } = usable(command.file, () => ({
    document: parsePolicyDocument(json),
    policy: loadPolicy(json, signatureScanOf(config, compileSignatureLibrary())),
  }))
  return command.action === "check"
    ? check(config, document, policy)
    : testCases(config, policy, command.cases, readJson(command.cases))
}

function readJson(file: string): JsonValue {
  return usable(file, () => {
    try {
      const bytes = readFileSync(file)
      const problem = savedProblem(bytes)
      if (problem !== undefined) throw new PolicyError(problem)
      return parseStrictJson(savedText(bytes))
    } catch (error) {
      if (error instanceof StrictJsonError || error instanceof PolicyError) throw error
      throw new StartupError(`${file} cannot be read`)
    }
  })
}

function usable<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof PolicyError || error instanceof StrictJsonError)
      throw new StartupError(`${file}: ${error.message}`)
    throw error
  }
}
