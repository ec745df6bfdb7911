/** The reviewer a deployment is configured with, with its deadline and its queue. */

import type { ReviewerOptions } from "../options/config.ts"
import { PROCESS_WORLD, type RetryWorld } from "../outbound/ask.ts"
import { builtinReviewer, type ReviewText } from "./builtin-rules.ts"
import { anthropicReviewer, type ModelApi, openAiReviewer } from "./model-reviewers.ts"
import { noReview, type Reviewer, ReviewFailure } from "./reviewer.ts"

/** Reviews that run at once against a model, and reviews that may be queued. */
export const MAX_RUNNING_REVIEWS = 8
export const MAX_WAITING_REVIEWS = 64
/** UTF-8 bytes of AI output that are reviewed: the size of the largest request body. */
export const MAX_REVIEWED_BYTES: number = 1024 * 1024

/** A reviewer configuration that cannot work. One sentence for the operator, never the key. */
export class ReviewConfigError extends Error {
  override readonly name = "ReviewConfigError"
}

const MODEL_REVIEWERS = {
  openai: { create: openAiReviewer, baseUrl: "https://api.openai.com/v1" },
  anthropic: { create: anthropicReviewer, baseUrl: "https://api.anthropic.com" },
} as const

function modelApi(config: ReviewerOptions, defaultBaseUrl: string): ModelApi {
  const { baseUrl, model, apiKey } = config
  if (model === undefined || model === "") throw new ReviewConfigError("The reviewer needs the name of a model.")
  if (apiKey === undefined && baseUrl === undefined) throw new ReviewConfigError("The reviewer needs an API key.")
  // A key that no header can carry would be quoted in the error of every request.
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new ReviewConfigError("The reviewer's API key must be printable ASCII without spaces.")
  }
  return { baseUrl: baseUrl ?? defaultBaseUrl, model, ...(apiKey === undefined ? {} : { apiKey }) }
}

/** Calls the task with a signal that aborts with the caller's or at the deadline, and clears its timer. */
async function withDeadline<Result>(
  milliseconds: number,
  outer: AbortSignal,
  task: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  const timer = setTimeout(abort, milliseconds)
  outer.addEventListener("abort", abort, { once: true })
  try {
    if (outer.aborted) abort()
    return await task(controller.signal)
  } finally {
    clearTimeout(timer)
    outer.removeEventListener("abort", abort)
  }
}

/** A reviewer with a deadline and a queue of its own. */
function withLimits(reviewer: Reviewer, timeoutMs: number): Reviewer {
  const queue = boundedQueue({ running: MAX_RUNNING_REVIEWS, waiting: MAX_WAITING_REVIEWS })
  return {
    ...reviewer,
    async review(request, outer) {
      if (Buffer.byteLength(request.ai_output_text) > MAX_REVIEWED_BYTES) throw new ReviewFailure("too_large")
      return await withDeadline(timeoutMs, outer, signal => queue.run(() => reviewer.review(request, signal), signal))
    },
  }
}

/**
 * The configured reviewer.
 * @param review where the built-in rules are applied; absent: in this thread
 * @throws ReviewConfigError at start, when the configuration cannot work
 */
export function createReviewer(
  config: ReviewerOptions,
  world: RetryWorld = PROCESS_WORLD,
  review?: ReviewText,
): Reviewer {
  if (config.kind === "none") return noReview
  if (config.kind === "builtin") return builtinReviewer(review)
  const { create, baseUrl } = MODEL_REVIEWERS[config.kind]
  return withLimits(create(modelApi(config, baseUrl), world), config.timeoutMs)
}

// A bounded queue of reviews. A full queue refuses at once: a review that starts late would miss its deadline anyway.

interface QueueBounds {
  readonly running: number
  readonly waiting: number
}

/** Runs tasks in the order of their arrival, at most so many at a time. */
interface BoundedQueue {
  /** @throws ReviewFailure `overloaded` when the queue is full, `timeout` when the signal aborts while it waits */
  run<Result>(task: () => Promise<Result>, signal: AbortSignal): Promise<Result>
}

export function boundedQueue(bounds: QueueBounds): BoundedQueue {
  const waiting = new Set<() => void>()
  let running = 0

  function waitForSlot(signal: AbortSignal): Promise<void> {
    if (waiting.size >= bounds.waiting) throw new ReviewFailure("overloaded")
    return new Promise((resolve, reject) => {
      const start = (): void => {
        waiting.delete(start)
        signal.removeEventListener("abort", giveUp)
        resolve()
      }
      const giveUp = (): void => {
        waiting.delete(start)
        reject(new ReviewFailure("timeout"))
      }
      waiting.add(start)
      signal.addEventListener("abort", giveUp, { once: true })
    })
  }

  /** Gives the slot to the first queued task, so that a new one cannot take it first. */
  function freeSlot(): void {
    const [next] = waiting
    if (next === undefined) running -= 1
    else next()
  }

  return {
    async run(task, signal) {
      if (signal.aborted) throw new ReviewFailure("timeout")
      if (running < bounds.running) running += 1
      else await waitForSlot(signal)
      try {
        return await task()
      } finally {
        freeSlot()
      }
    },
  }
}
