/** Requests of the commands to the service, or to the relay before it. No redirect is followed. */
import { NoAnswer } from "./service-calls.ts"

/** @throws NoAnswer when nobody answers */
export async function askService(request: Request): Promise<Response> {
  try {
    return await fetch(request, { redirect: "error" })
  } catch {
    throw new NoAnswer("The service cannot be reached.")
  }
}
