/** The Claude Agent SDK: its hooks as callbacks, which report to `POST /hooks/claude-code` of the service. docs/doors/claude-code.md. */

/** Milliseconds that the service has to answer. The SDK waits longer. */
const TIMEOUT_MS = 25_000
const HOOK_TIMEOUT_SECONDS = 30
/** Statuses for a call that the service does not take, which its arguments could bring about. */
const UNFIT: readonly number[] = [400, 413]
/** Events about calls of tools. */
type Event = "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionDenied"

export type ClaudeAgentOptions = {
  /** Address of the service. Absent: the variable RUNSEAL_URL. */
  readonly url?: string
  /** Absent: the variable RUNSEAL_API_KEY, unless RUNSEAL_URL names another address. */
  readonly apiKey?: string
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
  const headers = { "Content-Type": "application/json", ...(apiKey === undefined ? {} : { "X-Service-Key": apiKey }) }
  const observes = settings.mode === "observe"
  const goesOn = observes || settings.fail === "open"
  const report: Callback = async (input, _toolUseId, { signal }) => {
    try {
      const either = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
      const body = JSON.stringify(input)
      // A redirect is not followed, so that the key goes nowhere else, and no other server decides.
      const answer = await fetch(address, { method: "POST", headers, body, redirect: "manual", signal: either })
      if (!answer.ok)
        return failed(input, `the service answered ${answer.status}`, UNFIT.includes(answer.status) ? observes : goesOn)
      return await answer.json()
    } catch {
      return failed(input, "the service cannot be reached", goesOn)
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
