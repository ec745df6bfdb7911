/** The in-toto statement of a run, for in-toto tools: for the key that made the run, and for everybody where it is published. */
import { Hono } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import type { NoStatement } from "../../sealing/seal-run-statement.ts"
import type { RunOfPath } from "./own-run.ts"
import { sendPublished } from "./publications-routes.ts"

const REASONS: Readonly<Record<NoStatement, string>> = {
  stage_error: "it ended as stage_error, and its record is not an attestation.",
  revoked_key: "a key that its record rests on is revoked from before then, and the record does not verify any more.",
}

const FILE = "statement.intoto.json"

/** The statement of one run. @param base of the path */
export function runStatementOf(deps: Deps, base: "/runs" | "/admin/runs", find: RunOfPath): Hono {
  const app = new Hono()
  app.get(`${base}/:id/${FILE}`, async c => {
    const { run_id, bundle } = await find(c, deps)
    return c.body(await statementOf(deps, bundle), 200, {
      "Content-Type": "application/json",
      "Content-Disposition": `attachment; filename="runseal-run-${run_id}-${FILE}"`,
    })
  })
  return app
}

/** For everybody, without a key. */
export function publicStatementRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.get(`/public/runs/:token/${FILE}`, c => sendPublished(c, deps, bundle => statementOf(deps, bundle)))
  return app
}

async function statementOf({ stateRun }: Pick<Deps, "stateRun">, bundle: string): Promise<string> {
  const statement = await stateRun(bundle)
  if (!("absent" in statement)) return statement.envelope
  const code = statement.absent === "stage_error" ? "other_outcome" : "not_found"
  throw new HttpError(code, `There is no statement of this run: ${REASONS[statement.absent]}`)
}
