/** Reports what takes long while a start goes on. */

/** Milliseconds after which a step is reported. */
const SLOW_MS = 1000

/** The result of the step. @param say called once if the step has not ended after a second */
export async function whenSlow<T>(step: Promise<T>, say: () => void): Promise<T> {
  const timer = setTimeout(say, SLOW_MS)
  return step.finally(() => clearTimeout(timer))
}
