/** The Claude Agent SDK: its hooks as callbacks, which report to `POST /hooks/claude-code` of the service. docs/doors/claude-code.md. */
import {
  createBreaker,
  HttpStatusError,
  InvalidArgumentError,
  isUnfit,
  NetworkError,
  parseRetryAfter,
  RunsealError,
  statusError,
} from "@runseal/sdk"

/** Milliseconds that the service has to seal what became of a call. The SDK waits longer. */
const CLOSE_MS = 25_000
const HOOK_TIMEOUT_SECONDS = 30
/** Events about calls of tools. */
type Event = "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionDenied"

export type ClaudeAgentOptions = {
  /** Address of the service. Absent: the variable RUNSEAL_URL. */
  readonly url?: string
  /** Absent: the variable RUNSEAL_API_KEY, unless RUNSEAL_URL names another address. */
  readonly apiKey?: string
  /** Gives the access token of the person for whom the agent acts, for each event, because tokens expire; undefined: no person is named. */
  readonly endUserToken?: () => string | undefined
  /** Parameters of the endpoint, as docs/api.md has them. */
  readonly settings?: Readonly<Record<string, string>>
}

/** As the SDK's `HookJSONOutput`: what it is to do. */
type HookOutput = {
  readonly decision?: "block"
  readonly reason?: string
  readonly systemMessage?: string
  readonly hookSpecificOutput?: {
    hookEventName: "PreToolUse"
    permissionDecision: "deny"
    permissionDecisionReason: string
  }
}
type Callback = (
  input: { readonly hook_event_name: string },
  toolUseId: string | undefined,
  options: { readonly signal: AbortSignal },
) => Promise<HookOutput>
type Matcher = { hooks: Callback[]; timeout: number }

/** `hooks` of the options of `query`: a permit before each call of a tool, its close after it. */
export function claudeAgentHooks(options: ClaudeAgentOptions = {}): Record<Event, Matcher[]> {
  const { RUNSEAL_URL, RUNSEAL_API_KEY } = process.env
  const { url = RUNSEAL_URL, settings = {} } = options
  if (url === undefined) throw new TypeError("The address of the service is needed: url, or RUNSEAL_URL.")
  // The key of the environment is for the address of the environment.
  const apiKey = options.apiKey ?? (RUNSEAL_URL === undefined || RUNSEAL_URL === url ? RUNSEAL_API_KEY : undefined)
  const address = `${url.replace(/\/$/, "")}/hooks/claude-code?${new URLSearchParams(settings)}`
  const headers = new Headers({ "Content-Type": "application/json" })
  try {
    if (apiKey !== undefined) headers.set("X-Service-Key", apiKey)
  } catch {
    // The error of the platform quotes the key.
    throw new TypeError("The API key has characters that no header can carry.")
  }
  const observes = settings.mode === "observe"
  const goesOn = observes || settings.fail === "open"
  const breaker = createBreaker({ baseUrl: url })
  const headersOf = (): Headers => {
    const sent = new Headers(headers)
    try {
      const token = options.endUserToken?.()
      if (token !== undefined) sent.set("X-End-User-Token", token)
    } catch (cause) {
      // No outage: a person who can spoil a token would let the calls of all others pass undecided.
      throw new InvalidArgumentError("there is no access token that can be sent", { cause })
    }
    return sent
  }
  const send = async (body: string, outer: AbortSignal, ms: number): Promise<HookOutput> => {
    const sent = headersOf()
    const signal = AbortSignal.any([outer, AbortSignal.timeout(ms)])
    try {
      // A redirect is not followed, so that the key goes nowhere else, and no other server decides.
      const answer = await fetch(address, { method: "POST", headers: sent, body, redirect: "manual", signal })
      if (answer.ok) return await answer.json()
      const retryAfterSeconds = parseRetryAfter(answer.headers.get("retry-after"), Date.now())
      throw statusError(answer.status, `the service answered ${answer.status}`, { retryAfterSeconds })
    } catch (cause) {
      throw cause instanceof HttpStatusError ? cause : new NetworkError("the service cannot be reached", { cause })
    }
  }
  const report: Callback = async (input, _toolUseId, { signal }) => {
    try {
      const body = JSON.stringify(input)
      if (input.hook_event_name !== "PreToolUse") return await send(body, signal, CLOSE_MS)
      return await breaker.decision(goesOn ? "open" : "closed", waitMs => send(body, signal, waitMs))
    } catch (error) {
      const why = error instanceof RunsealError ? error.message : "the call cannot be written as JSON"
      // What is no error of the SDK is a call that cannot be written: no reason to go on, as an outage may be.
      const isOfCall = !(error instanceof RunsealError) || isUnfit(error)
      return failed(input, why, isOfCall ? observes : goesOn)
    }
  }
  const matcher = (): Matcher[] => [{ hooks: [report], timeout: HOOK_TIMEOUT_SECONDS }]
  return {
    PreToolUse: matcher(),
    PostToolUse: matcher(),
    PostToolUseFailure: matcher(),
    PermissionDenied: matcher(),
  }
}

/** A call that could not be decided is denied; a result that could not be sealed is reported to the user. */
function failed({ hook_event_name }: { readonly hook_event_name: string }, why: string, goesOn: boolean): HookOutput {
  const sentence = `Runseal: not sealed, since ${why}.`
  if (hook_event_name !== "PreToolUse" || goesOn) return { systemMessage: sentence }
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: `${sentence} The call is denied.`,
    },
  }
}
