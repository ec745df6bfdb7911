/** The only access of this package to the clock and the network. */

/** Milliseconds since the epoch. */
export const currentTime = (): number => Date.now()

/** Sends one request. */
export type Fetch = (url: string, init: RequestInit) => Response | Promise<Response>

export const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init)

/** Milliseconds for one request, and bytes of one answer. */
export const REQUEST_TIMEOUT_MS = 5_000
const ANSWER_MAX_BYTES = 65_536

/** An answer with its whole body, of bounded size. @throws Error for a larger one */
export async function boundedAnswer(response: Response): Promise<Response> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (const reader = response.body?.getReader(); reader !== undefined; ) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > ANSWER_MAX_BYTES) {
      await reader.cancel()
      throw new Error(`the answer is larger than ${ANSWER_MAX_BYTES} bytes`)
    }
    parts.push(new Uint8Array(value))
  }
  return new Response(new Blob(parts), { status: response.status })
}
