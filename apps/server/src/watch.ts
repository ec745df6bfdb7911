/** What the service tells whoever watches it: that something happened and how long it took, never what it was about. */
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import type { OutsideFault } from "@runseal/core/wire/log-answers"
import type { WitnessFault } from "./witnessing/ask-witness.ts"

/** A route as it was registered, such as `GET /runs/:id`. */
export type Route = { readonly method: string; readonly path: string }

export type Watch = {
  /** A request was answered; undefined for what is no endpoint. */
  readonly answered: (route: Route | undefined, status: number) => void
  /** A record is durable and acknowledged; seconds since it was handed to the sealer. */
  readonly sealed: (kind: OutcomeKind | "attestation", seconds: number) => void
  /** A batch of so many records was committed. */
  readonly committed: (records: number) => void
  /** A batch was not committed, and everything in it refused. */
  readonly batchFailed: () => void
  /** A request was refused because a limit was reached. */
  readonly limited: (limit: "shared" | "attest" | "trial") => void
  /** A witness cosigned a tree of so many entries, at this time by its clock (Unix seconds). */
  readonly cosigned: (witness: string, size: number, time: number) => void
  readonly notCosigned: (witness: string, fault: WitnessFault) => void
  /** Enough witnesses cosigned a tree of so many entries. */
  readonly witnessed: (size: number) => void
  /** The outside log holds one entry more. @param late whether it is of another time than the entry of the own log */
  readonly entered: (late: boolean) => void
  readonly notEntered: (fault: OutsideFault) => void
}

const ignore = (): void => undefined
/** Nobody watches. */
export const UNWATCHED: Watch = {
  answered: ignore,
  sealed: ignore,
  committed: ignore,
  batchFailed: ignore,
  limited: ignore,
  cosigned: ignore,
  notCosigned: ignore,
  witnessed: ignore,
  entered: ignore,
  notEntered: ignore,
}
