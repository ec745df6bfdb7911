/**
 * Refreshes the page that it is on: it waits until the log has grown, at most some seconds, fetches the page again and changes what is different.
 * Of the windows of a browser one waits for all of them. It is no use of the session, which ends as if nobody had the page open.
 */
import { askUnattended, fetchPage, SessionEnded } from "./ask-service.ts"
import { refresh } from "./refresh-page.ts"

/** Seconds of one wait. */
const WAIT_SECONDS = 20
/** Least time between two refreshes: a busy log grows all the time, and every refresh counts for the rate limit. */
const REST_MS = 6000
/** After a failure, and where the service says no time. */
const RETRY_MS = 15_000
/** Remembers a pause for the pages of this window. */
const PAUSED = "runseal-live-paused"
const CHANNEL = "runseal-live"

const box = document.getElementById("live")
const button = box?.querySelector("button")
const state = box?.querySelector('[role="status"]')

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const isPaused = (): boolean => sessionStorage.getItem(PAUSED) !== null
const rests = (): boolean => document.hidden || isPaused()

/** Resolves when the page is seen, and not paused. */
const awake = async (): Promise<void> => {
  while (rests())
    await new Promise<void>(resolve => {
      document.addEventListener("visibilitychange", () => resolve(), { once: true })
      button?.addEventListener("click", () => resolve(), { once: true })
    })
}

function say(text: string, isBad = false): void {
  if (!state || state.textContent === text) return
  state.textContent = text
  state.className = isBad ? "bad-text" : ""
}

/** How many entries the log has, once it has more than `after` or the wait is over. @throws Error */
async function grown(after: number): Promise<number> {
  const response = await askUnattended(`/attention?after=${after}&wait=${WAIT_SECONDS}`, 1000 * WAIT_SECONDS)
  if (response.status === 401) throw new SessionEnded()
  const answer: unknown = response.ok ? await response.json() : undefined
  if (typeof answer === "object" && answer !== null && "log_size" in answer && typeof answer.log_size === "number")
    return answer.log_size
  throw new Error(`The service answered with ${response.status}`)
}

async function renew(): Promise<void> {
  if (rests()) return
  refresh(document, await fetchPage())
  say("Live")
}

/** Waits for the log, for all windows of this browser, for as long as this one is seen. @returns the last size */
async function lead(after: number, tell: () => void): Promise<number> {
  const size = await grown(after)
  tell()
  await renew()
  await sleep(REST_MS)
  return size
}

/** Does the work again and again, also after failures; ends with the session. */
async function forever(work: () => Promise<void>): Promise<void> {
  for (;;) {
    await awake()
    try {
      await work()
    } catch (error) {
      if (error instanceof SessionEnded) return say("The session has ended: load the page again.", true)
      if (!rests()) say(`${error instanceof Error ? error.message : "It failed"}; trying again.`, true)
      await sleep(RETRY_MS)
    }
  }
}

function main(place: HTMLElement, toggle: HTMLButtonElement): void {
  const show = (): void => {
    toggle.textContent = isPaused() ? "Go on" : "Pause"
    say(isPaused() ? "Paused" : "Live")
  }
  toggle.addEventListener("click", () => {
    if (isPaused()) sessionStorage.removeItem(PAUSED)
    else sessionStorage.setItem(PAUSED, "")
    show()
  })
  place.hidden = false
  show()
  const channel = new BroadcastChannel(CHANNEL)
  let size = Number(place.dataset.after)
  let last = 0
  channel.addEventListener("message", () => {
    if (Date.now() - last < REST_MS) return
    last = Date.now()
    renew().catch((error: unknown) => say(error instanceof Error ? error.message : "It failed", true))
  })
  void forever(() =>
    navigator.locks.request(CHANNEL, async () => {
      while (!rests()) size = await lead(size, () => channel.postMessage(""))
    }),
  )
}

if (box !== null && button && "locks" in navigator) main(box, button)
