/** Requests of the commands to the service, or to the relay before it. No redirect is followed, and no answer is read beyond a bound. */
import { NoAnswer } from "./service-calls.ts"

/** Largest answer: a record is some 100 KiB. */
const ANSWER_MAX_BYTES = 4_194_304

/** Gives the answer once it is whole. @throws NoAnswer when nobody answers, or not within the bound */
export async function askService(request: Request): Promise<Response> {
  try {
    const answer = await fetch(request, { redirect: "error" })
    const { status, headers } = answer
    return new Response(await boundedText(answer), { status, headers })
  } catch {
    throw new NoAnswer("The service cannot be reached.")
  }
}

async function boundedText({ body }: Response): Promise<string> {
  let [size, text] = [0, ""]
  const decoder = new TextDecoder()
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > ANSWER_MAX_BYTES) throw new Error("The answer is too large.")
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
