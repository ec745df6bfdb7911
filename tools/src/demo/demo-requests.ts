/** Plain HTTP with the service. */
import { type JsonValue, parseStrictJson } from "@runseal/canonical"

const ANSWER_TIMEOUT_MS = 30_000

export type Answer = { readonly status: number; readonly text: string; readonly json: () => JsonValue }

async function ask(address: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(address, { ...init, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })
  const text = await response.text()
  return { status: response.status, text, json: () => parseStrictJson(text) }
}

/** @param key secret of an API key; absent in open mode */
export const post = (address: string, body: Uint8Array<ArrayBuffer>, key?: string): Promise<Answer> => {
  const headers = { "Content-Type": "application/json", ...(key === undefined ? {} : { "X-Service-Key": key }) }
  return ask(address, { method: "POST", body, headers })
}

/** @throws Error when the answer is not 200 */
export async function get(address: string): Promise<Answer> {
  const answer = await ask(address, {})
  if (answer.status !== 200) throw new Error(`GET ${new URL(address).pathname} answered ${answer.status}`)
  return answer
}
