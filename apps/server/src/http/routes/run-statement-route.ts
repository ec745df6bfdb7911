/** The in-toto statement of a run, for in-toto tools: for the key that made the run, and for everybody where it is published. */
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import type { NoStatement } from "../../sealing/seal-run-statement.ts"
import type { Handlers } from "../endpoint-routes.ts"
import type { RunOfPath } from "./own-run.ts"
import { sendPublished } from "./publications-routes.ts"

const REASONS: Readonly<Record<NoStatement, string>> = {
  stage_error: "it ended as stage_error, and its record is not an attestation.",
  revoked_key: "a key that its record rests on is revoked from before then, and the record does not verify any more.",
}

const FILE = "statement.intoto.json"

/** The statement of one run. */
export function runStatementOf(deps: Deps, find: RunOfPath): Handlers {
  return {
    run_statement: async c => {
      const { run_id, bundle } = await find(c, deps)
      return c.body(await statementOf(deps, bundle), 200, {
        "Content-Type": "application/json",
        "Content-Disposition": `attachment; filename="runseal-run-${run_id}-${FILE}"`,
      })
    },
  }
}

/** For everybody, without a key. */
export function publicStatementRoutes(deps: Deps): Handlers {
  return {
    public_statement: c => sendPublished(c, deps, bundle => statementOf(deps, bundle)),
  }
}

async function statementOf({ stateRun }: Pick<Deps, "stateRun">, bundle: string): Promise<string> {
  const statement = await stateRun(bundle)
  if (!("absent" in statement)) return statement.envelope
  const code = statement.absent === "stage_error" ? "other_outcome" : "not_found"
  throw new HttpError(code, `There is no statement of this run: ${REASONS[statement.absent]}`)
}
