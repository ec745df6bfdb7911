/** What every part of the bench is given. */
import type { Plan } from "../plan.ts"
import type { Section } from "../row.ts"
import type { DatabaseServer } from "../servers/database-server.ts"

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
