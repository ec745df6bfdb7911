/** What every part of the bench is given, and how long it measures. */
import type { Section } from "./page.ts"
import type { DatabaseServer } from "./servers/database-server.ts"

export type Plan = {
  /** Callers in rotation, so that no budget and no chain is everybody's. */
  readonly keys: number
  /** Seconds a server is under load before anything is counted: its code is compiled meanwhile. */
  readonly heatSeconds: number
  /** Seconds before each count. */
  readonly warmSeconds: number
  /** Seconds of each count. */
  readonly seconds: number
  readonly connections: readonly number[]
  /** Rounds in which two sides are measured in turn. */
  readonly rounds: number
  /** Seconds of the long count; 0 for none. */
  readonly sustainedSeconds: number
  /** Runs that reads are measured on: enough for a full tile of the log. */
  readonly storedRuns: number
  /** Minutes under load in which memory is looked at. */
  readonly memoryMinutes: number
}

/** Connections of every measurement that is not about their number. */
export const USUAL_CONNECTIONS = 64

export const WHOLE: Omit<Plan, "memoryMinutes"> = {
  keys: 1000,
  heatSeconds: 6,
  warmSeconds: 1,
  seconds: 5,
  connections: [1, 8, 64, 256],
  rounds: 3,
  sustainedSeconds: 60,
  storedRuns: 2400,
}

export const QUICK: Omit<Plan, "memoryMinutes"> = {
  keys: 200,
  heatSeconds: 2.5,
  warmSeconds: 0.3,
  seconds: 1.5,
  connections: [8, 64],
  rounds: 1,
  sustainedSeconds: 0,
  storedRuns: 500,
}

export type Bench = {
  readonly plan: Plan
  /** The bench's own PostgreSQL; its absence is a sentence in the table. */
  readonly database: DatabaseServer | undefined
  /** A line for whoever waits. */
  readonly say: (line: string) => void
}

/** One part, by the name it is chosen with. */
export type Part = {
  readonly name: string
  readonly about: string
  /** Left out unless it is asked for by its name: it takes too long. */
  readonly onlyByName?: true
  readonly run: (bench: Bench) => Promise<readonly Section[]>
}
