/**
 * The results of `read` for `first` up to, not including, `end`, in that order, with at most `ahead` reads pending. A rejection
 * reaches the consumer in the same order.
 */
export async function* inOrder<T>(
  first: number,
  end: number,
  ahead: number,
  read: (at: number) => Promise<T>,
): AsyncGenerator<T> {
  const pending: Promise<T>[] = []
  for (let next = first; next < end || pending.length > 0; ) {
    for (; next < end && pending.length < ahead; next++) {
      const reading = read(next)
      // After an earlier read has failed, no consumer waits for this one: its rejection must not end the process.
      reading.catch(() => undefined)
      pending.push(reading)
    }
    const reading = pending.shift()
    if (reading !== undefined) yield await reading
  }
}
