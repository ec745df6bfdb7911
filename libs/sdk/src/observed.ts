/** Calls that are only observed: they are sealed beside the program, and what has no place there is counted. docs/doors/README.md */
import type { Client } from "./client.ts"

/** Most observed calls of a client that are not sealed yet, and most characters of their arguments. */
const CALLS_MAX = 256
const CHARACTERS_MAX = 67_108_864

export type Observed = {
  /** Calls without an opening, so far. The next opening has their number. */
  missing: number
  /**
   * Seals a call while the program goes on.
   * @param seal is given a function that takes a place for so many characters of arguments, and throws where there is none. Never rejects
   */
  readonly beside: (seal: (admit: (characters: number) => void) => Promise<void>) => Promise<void>
  /** Resolves when each call so far is sealed, or is known not to be. */
  readonly flush: () => Promise<void>
}
const observations = new WeakMap<Client, Observed>()

/** What a client has observed. */
export function observedBy(client: Client): Observed {
  const known = observations.get(client) ?? createObserved()
  observations.set(client, known)
  return known
}

/** Resolves when each observed call that has ended by now is sealed, or is known not to be. A program calls it before it exits. */
export const flushObserved = (client: Client): Promise<void> => observedBy(client).flush()

/** For a door that observes without a client of its own. */
export function createObserved(): Observed {
  const sealing = new Set<Promise<void>>()
  let all = 0
  return {
    missing: 0,
    beside: seal => {
      let own = 0
      const admit = (characters: number): void => {
        if (sealing.size >= CALLS_MAX || all + characters > CHARACTERS_MAX)
          throw new Error("Too many observed calls are not sealed yet.")
        own += characters
        all += characters
      }
      const sealed = seal(admit).finally(() => {
        sealing.delete(sealed)
        all -= own
      })
      sealing.add(sealed)
      return sealed
    },
    flush: async () => void (await Promise.all(sealing)),
  }
}
