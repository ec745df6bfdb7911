/**
 * The steps that a trace of this service has. A step costs nothing while nobody follows it: then it is the call of its work. The follower is of
 * the process, as the signals are, because a stage is given no part of the service.
 * The facts of a step are names, numbers and codes of ours. They are never text of a caller, a key or a secret.
 */

import type { Watch } from "@runseal/core/seal/stage-failure"

/** Facts of a step. Each name becomes an attribute `runseal.<name>`; a `fault` means that the step failed. */
export type Facts = Readonly<Record<string, string | number>>

/** Says more of a step, once it is known. */
export type Note = (facts: Facts) => void

export type Step = {
  readonly name: string
  readonly facts?: Facts
  /** What later steps know this step by: the item of a batch. */
  readonly item?: object
  /** The run whose step it is, by its texts: also in a batch, its steps belong to the request that was admitted. */
  readonly run?: object
  /** Of a step that is done for several requests, or for none: it begins a trace of its own, with links to the steps of these items. */
  readonly apart?: readonly object[]
}

/** A request, as it is admitted. */
export type FollowedRequest = {
  readonly method: string
  readonly path: string
  /** W3C Trace Context of the caller. */
  readonly traceparent: string | undefined
}

/** How a request was answered. @param route as it was registered; undefined for what is no endpoint */
export type NoteAnswer = (route: string | undefined, status: number) => void

/** Both call their work at once, and give what it gives. The step ends with its work; with its promise, where it gives one. */
export type Follower = {
  readonly step: <T>(step: Step, work: (note: Note) => T) => T
  readonly request: <T>(request: FollowedRequest, work: (note: NoteAnswer) => T) => T
}

const ignore = (): void => undefined
const NOBODY: Follower = { step: (_, work) => work(ignore), request: (_, work) => work(ignore) }

let follower = NOBODY

/** From here on every step of the process is followed. @returns how to end that */
export function followSteps(by: Follower): () => void {
  follower = by
  return () => {
    follower = NOBODY
  }
}

/** Does a step. */
export const followed = <T>(step: Step, work: (note: Note) => T): T => follower.step(step, work)

/** How the engine is watched in this process. */
export const WATCH: Watch = {
  monotonicMs: () => performance.now(),
  follow: (name, run, work) => followed({ name, run }, work),
}

/** Answers a request. */
export const followedRequest = <T>(request: FollowedRequest, work: (note: NoteAnswer) => T): T =>
  follower.request(request, work)
