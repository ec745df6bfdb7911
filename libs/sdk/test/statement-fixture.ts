/** The run statements of the fixture service. */
import { utf8Encode } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { runStatement, runStatementText } from "@runseal/core/formulas/run-statement-text"
import { IN_TOTO_PAYLOAD_TYPE } from "@runseal/core/vocabulary/versions"
import { signEnvelope } from "@runseal/log/entries/dsse"
import type { Deployment } from "../../core/test/fixtures/deployment.ts"
import type { Answer } from "./scripted-service.ts"

export const STATEMENT_FILE = "statement.intoto.json"

/** The envelope of a record's statement; 404 for a record that has none. */
export function statementAnswer({ serviceKey }: Pick<Deployment, "serviceKey">, bundle: Bundle): Answer {
  const statement = runStatement(bundle)
  if (statement === undefined) return { status: 404, body: { ok: false, error: "There is no statement of this run." } }
  const payload = utf8Encode(runStatementText(statement))
  return { status: 200, body: null, text: JSON.stringify(signEnvelope(IN_TOTO_PAYLOAD_TYPE, payload, serviceKey)) }
}
