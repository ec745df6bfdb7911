/** Reads ahead, but not too far. */

/**
 * What `read` gives for `first` up to, not including, `end`, in that order, with at most `ahead` readings under way. A
 * rejection reaches the consumer when its turn comes.
 */
export async function* inOrder<T>(
  first: number,
  end: number,
  ahead: number,
  read: (at: number) => Promise<T>,
): AsyncGenerator<T> {
  const underWay: Promise<T>[] = []
  for (let next = first; next < end || underWay.length > 0; ) {
    for (; next < end && underWay.length < ahead; next++) {
      const reading = read(next)
      // One that fails behind another that failed first is nobody's: it must not end the process.
      reading.catch(() => undefined)
      underWay.push(reading)
    }
    const reading = underWay.shift()
    if (reading !== undefined) yield await reading
  }
}
