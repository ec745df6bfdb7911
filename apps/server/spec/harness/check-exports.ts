/** The statements of exports, which the callers hold and the service does not keep. */
import type { Anchor } from "@runseal/core/artifacts/anchor"
import { exportStatementSchema } from "@runseal/core/artifacts/export-statement"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { VERDICTS } from "@runseal/core/verify/report"
import type { Auditor } from "./auditor.ts"

/** Each verifies and is in the log. */
export const checkExports = (auditor: Auditor, statements: readonly string[]): readonly Anchor[] =>
  statements.map(text => {
    const parsed = parseExact(exportStatementSchema, auditor.judge(text, VERDICTS.export_statement, "a statement"))
    if (!parsed.ok) throw new Error(parsed.problem)
    auditor.checkEntry(parsed.value)
    return parsed.value
  })
