/** What every comparison of `POST /execute` with other servers needs: the usual load, the yardstick at its best, rounds in turn. */
import { FULL } from "../bodies.ts"
import { type Measured, measure } from "../measured-load.ts"
import { USUAL_CONNECTIONS } from "../plan.ts"
import type { Deployment } from "../servers/deployment.ts"
import type { ServerProcess } from "../servers/server-process.ts"
import type { Bench } from "./bench.ts"

export type Loads = {
  readonly heat: (server: ServerProcess) => Promise<unknown>
  readonly usual: (server: ServerProcess, changes?: Partial<Parameters<typeof measure>[1]>) => Promise<Measured>
}

export const loads = ({ plan }: Bench, deployment: Deployment): Loads => {
  const job = {
    requests: FULL,
    secrets: deployment.secrets(),
    connections: USUAL_CONNECTIONS,
    warmSeconds: plan.warmSeconds,
    seconds: plan.seconds,
  }
  return {
    heat: server => measure([server], { ...job, warmSeconds: 0, seconds: plan.heatSeconds }),
    usual: (server, changes = {}) => measure([server], { ...job, ...changes }, deployment.lookAtDatabase),
  }
}

/** How many transactions the yardstick has open when it is fastest. */
export async function bestLanes(bench: Bench, deployment: Deployment): Promise<number> {
  const tried: { readonly lanes: number; readonly perSecond: number }[] = []
  for (const lanes of bench.plan.lanes) {
    bench.say(`one transaction a run, ${lanes} at once`)
    const naive = await deployment.startNaive(lanes)
    const { usual } = loads(bench, deployment)
    const { perSecond } = await usual(naive, {
      warmSeconds: bench.plan.heatSeconds / 2,
      seconds: bench.plan.seconds / 2,
    })
    tried.push({ lanes, perSecond })
    await naive.stop()
  }
  return tried.sort((a, b) => b.perSecond - a.perSecond)[0]?.lanes ?? 1
}

/** Rounds in turn, so that a machine whose speed drifts treats all alike; in the order of the servers. */
export async function inTurn(
  { plan, say }: Bench,
  { usual }: Loads,
  what: string,
  servers: readonly ServerProcess[],
): Promise<readonly (readonly Measured[])[]> {
  const found = servers.map((): Measured[] => [])
  for (let round = 1; round <= plan.rounds; round++) {
    say(`${what}: round ${round}`)
    for (const [at, server] of servers.entries()) found[at]?.push(await usual(server))
  }
  return found
}

/** How a row says which round it is. */
export const whichRound = ({ rounds }: Bench["plan"]): string =>
  rounds === 1 ? "one round" : `the middle one of ${rounds} rounds in turn`
