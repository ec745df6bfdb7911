/**
 * The end of a session: it is warned of, and a page that is still open when its holder has signed in again works on, with all that was typed in
 * it. A form of an ended session that waits on its page is sent then, unless it decides on an approval. docs/console.md, "Forms".
 */
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { holderOf } from "../parts/page-forms.ts"
import { secondsLeft } from "../parts/session-left.ts"
import { askService } from "./ask-service.ts"

/** So long before its end a session is warned of. */
const WARNED_MS = 120_000
/** Between two checks of the clock. */
const TICK_MS = 2000

const box = document.getElementById("session-end")
const held = document.getElementById("held")

type Session = {
  readonly holder: string
  readonly csrf: string
  readonly left: ReturnType<typeof secondsLeft>
}

/** The session of an answer; undefined for what is none. */
function sessionOf(value: JsonValue): Session | undefined {
  if (!isObject(value)) return undefined
  const { key_id, person, csrf_token: csrf, idle_ends_at, ends_at } = value
  if (typeof csrf !== "string" || typeof idle_ends_at !== "string" || typeof ends_at !== "string") return undefined
  const left = secondsLeft({ idle_ends_at, ends_at }, Date.now())
  if (typeof key_id === "number") return { holder: holderOf({ key_id }), csrf, left }
  if (!isObject(person) || typeof person.issuer !== "string" || typeof person.subject !== "string") return undefined
  const { issuer, subject } = person
  return { holder: holderOf({ person: { issuer, subject } }), csrf, left }
}

/** The session that this browser has now. Asking is a use of it. */
async function ask(): Promise<Session | undefined> {
  try {
    const answer = await askService("/session")
    return answer.ok ? sessionOf(parseStrictJson(await answer.text())) : undefined
  } catch {
    // The service cannot be reached: the page stays as it is, and is asked for again.
    return undefined
  }
}

/** Gives the forms of a page the token of the session of now. */
function renew(within: ParentNode, csrf: string): void {
  for (const field of within.querySelectorAll("input[name=csrf]"))
    if (field instanceof HTMLInputElement) field.value = csrf
}

/** Says what becomes of the session of this page. */
function watch(notice: HTMLElement): void {
  const { holder = "", idleSeconds, endSeconds } = notice.dataset
  const channel = new BroadcastChannel("runseal-session")
  const [text, stay] = [notice.querySelector("p"), notice.querySelector("button")]
  let ends = Date.now() + Number(endSeconds) * 1000
  let idleEnds = Date.now() + Number(idleSeconds) * 1000
  let isOver = false

  const say = (sentence: string): void => {
    if (text !== null && text.textContent !== sentence) text.textContent = sentence
  }
  const tick = (): void => {
    const left = Math.min(idleEnds, ends) - Date.now()
    isOver ||= left <= 0
    notice.hidden = !isOver && left > WARNED_MS
    if (stay !== null) stay.hidden = isOver || ends <= idleEnds
    if (isOver) say("The session has ended. Sign in again in another window: what you typed here stays.")
    else if (left <= WARNED_MS) say(`The session ends in ${left > WARNED_MS / 2 ? "two minutes" : "a minute"}.`)
  }
  const goOn = async (): Promise<void> => {
    const session = await ask()
    if (session?.holder !== holder) return
    renew(document, session.csrf)
    isOver = false
    idleEnds = Date.now() + session.left.idle * 1000
    ends = Date.now() + session.left.end * 1000
    tick()
  }
  // Another page of the same holder was loaded: the session was used there, or is a new one.
  channel.addEventListener("message", ({ data }) => {
    if (data !== holder) return
    if (isOver) void goOn()
    else idleEnds = Date.now() + Number(idleSeconds) * 1000
  })
  stay?.addEventListener("click", goOn)
  window.addEventListener("focus", () => isOver && goOn())
  channel.postMessage(holder)
  setInterval(tick, TICK_MS)
}

/** Sends the form that waits, once its holder has signed in in another window. A decision is made ready, and waits for a press. */
function waitWith(form: HTMLFormElement): void {
  const by = form.elements.namedItem("by")
  window.addEventListener("focus", async () => {
    const session = await ask()
    if (session === undefined || !(by instanceof HTMLInputElement) || by.value !== session.holder) return
    renew(form, session.csrf)
    if (form.dataset.pressed === undefined) form.submit()
  })
}

if (box !== null) watch(box)
if (held instanceof HTMLFormElement) waitWith(held)
