/** The in-toto statement of a run, for other people's tools: to the key that made the run, and to anybody where it is published. */
import { Hono } from "hono"
import type { Deps } from "../../deps.ts"
import { notFound } from "../../http-error.ts"
import type { NoStatement } from "../../sealing/seal-run-statement.ts"
import { ownRun } from "./own-run.ts"
import { sendPublished } from "./publications-routes.ts"

const REASONS: Readonly<Record<NoStatement, string>> = {
  stage_error: "it ended as stage_error, and its record is no attestation.",
  revoked_key: "a key that its record rests on is revoked from before then, and the record does not verify any more.",
}

const FILE = "statement.intoto.json"

export function runStatementRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.get(`/runs/:id/${FILE}`, async c => {
    const { run_id, bundle } = await ownRun(c, deps)
    return c.body(await statementOf(deps, bundle), 200, {
      "Content-Type": "application/json",
      "Content-Disposition": `attachment; filename="runseal-run-${run_id}-${FILE}"`,
    })
  })
  return app
}

/** Before the door. */
export function publicStatementRoutes(deps: Deps): Hono {
  const app = new Hono()
  app.get(`/public/runs/:token/${FILE}`, c => sendPublished(c, deps, bundle => statementOf(deps, bundle)))
  return app
}

async function statementOf({ stateRun }: Pick<Deps, "stateRun">, bundle: string): Promise<string> {
  const stated = await stateRun(bundle)
  if ("absent" in stated) throw notFound(`There is no statement of this run: ${REASONS[stated.absent]}`)
  return stated.envelope
}
