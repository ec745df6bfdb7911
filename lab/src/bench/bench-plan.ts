/** The parameters of every part of the bench, such as how long it measures. */
import type { Section } from "./page.ts"
import type { DatabaseServer } from "./servers/database-server.ts"
import type { OtherCommit } from "./servers/other-commit.ts"

export type Plan = {
  /** Callers in rotation, so that they do not all share one budget and one chain. */
  readonly keys: number
  /** Seconds a server is under load before anything is measured, for the JIT compiler to warm up. */
  readonly heatSeconds: number
  /** Seconds before each count. */
  readonly warmSeconds: number
  /** Seconds of each count. */
  readonly seconds: number
  readonly connections: readonly number[]
  /** Numbers of server processes on one database; the first is what the others are compared with. */
  readonly processes: readonly number[]
  /** Rounds in which all loads of a part are measured in turn. */
  readonly rounds: number
  /** Seconds of the long count; 0 for none. */
  readonly sustainedSeconds: number
  /** Runs that reads are measured on: enough for a full tile of the log. */
  readonly storedRuns: number
  /** Requests of spans in each round, one after the other. */
  readonly spanRequests: number
  /** Rounds of starts, and of two commits in turn. */
  readonly startRounds: number
  /** Minutes under load in which memory is sampled. */
  readonly memoryMinutes: number
}

/** Connections of every measurement that does not vary their number. */
export const USUAL_CONNECTIONS = 64

export const WHOLE: Omit<Plan, "memoryMinutes"> = {
  keys: 1000,
  heatSeconds: 6,
  warmSeconds: 1,
  seconds: 5,
  connections: [1, 8, 64, 256],
  processes: [1, 2, 4],
  rounds: 3,
  sustainedSeconds: 60,
  storedRuns: 2400,
  spanRequests: 8,
  startRounds: 10,
}

export const QUICK: Omit<Plan, "memoryMinutes"> = {
  keys: 200,
  heatSeconds: 2.5,
  warmSeconds: 0.3,
  seconds: 1.5,
  connections: [8, 64],
  processes: [1, 2],
  rounds: 1,
  sustainedSeconds: 0,
  storedRuns: 500,
  spanRequests: 4,
  startRounds: 1,
}

export type Bench = {
  readonly plan: Plan
  /** The bench's own PostgreSQL; undefined when this machine has none. */
  readonly database: DatabaseServer | undefined
  /** Whether others' programs are measured too, which are downloaded and built. */
  readonly peers: boolean
  /** A commit that is measured in turn with this checkout. */
  readonly against: OtherCommit | undefined
  /** Prints a line of progress. */
  readonly say: (line: string) => void
}

/** One part of the bench. */
export type Part = {
  readonly name: string
  readonly about: string
  /** Runs only when its name is given, since it takes long. */
  readonly onlyByName?: true
  readonly run: (bench: Bench) => Promise<readonly Section[]>
}
